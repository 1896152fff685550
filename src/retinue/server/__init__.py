"""The HTTP and WebSocket server for browsers, programs and the command line."""
