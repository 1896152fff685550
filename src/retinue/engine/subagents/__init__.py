"""Subagents: two-sided agents that a prompt calls as tools."""
