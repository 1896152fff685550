"""The agents' folders: a complete plain-file mirror of the store, and rebuilding from it."""
