"""HTTP and WebSocket: the engine's door for browsers, programs and the command line."""
