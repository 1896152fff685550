"""The data model of agents: stored types and pure functions, without I/O."""
