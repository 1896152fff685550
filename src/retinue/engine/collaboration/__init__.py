"""Agents that work together: the tools with which they reach, start and ask each other."""
