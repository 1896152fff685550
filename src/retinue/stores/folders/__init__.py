"""The agents' folders: a plain, complete mirror of the store, and the way back from it."""
