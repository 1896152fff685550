"""One tool call or model stream, from its permission to its result."""
