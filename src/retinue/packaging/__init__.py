"""Packages a definition with its dependencies for use in other projects."""
