"""The agent in memory, the cache that holds it, and the limits it works within."""
