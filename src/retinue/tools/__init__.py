"""Tools: the port, what tool authors import, the built-in tools and MCP."""
