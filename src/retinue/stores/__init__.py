"""Where agents live between steps: the port. Adapters have their own paths."""
