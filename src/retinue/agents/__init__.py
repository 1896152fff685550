"""Durable instances, as pure data and pure rules: no I/O happens here."""
