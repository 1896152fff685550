"""Models: the port. Adapters have their own paths, so that importing this loads no vendor."""
