"""Subagents: agents with two sides that a prompt calls as tools, and what passes between them."""
