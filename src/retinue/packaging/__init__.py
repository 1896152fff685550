"""Packing a definition with all that it needs, for other projects."""
