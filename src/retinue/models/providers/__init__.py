"""Models of providers, through pydantic-ai; each vendor library is imported on first use."""
