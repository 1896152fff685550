"""Tools: the port and what tool authors import. Adapters have their own paths."""
