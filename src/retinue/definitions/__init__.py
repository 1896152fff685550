"""Templates of agents: their files, their format, and what they allow."""
