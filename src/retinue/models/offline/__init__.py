"""The built-in model: rules instead of AI, so that everything works without a key."""
