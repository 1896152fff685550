"""The built-in model: rules instead of a mind, so that everything works without a key."""
