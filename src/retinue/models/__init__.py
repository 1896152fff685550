"""The model port and its adapters; importing this package loads no vendor library."""
