"""The query language for items and notes."""
