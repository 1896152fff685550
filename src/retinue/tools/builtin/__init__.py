"""The tools that every installation has."""
