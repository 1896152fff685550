"""Builds the documentation site from `docs/` and a reference generated from the code."""
