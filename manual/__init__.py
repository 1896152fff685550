"""Puts the documentation together: the pages of `docs/`, the reference from the code, the site."""
