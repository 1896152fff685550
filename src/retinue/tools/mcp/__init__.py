"""Tools of MCP servers, which run as processes or are reached over HTTP."""
