"""Models over the network, through pydantic-ai; each vendor is imported on first use."""
