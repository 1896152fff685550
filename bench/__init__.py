"""Measurements: what a durable turn costs, beside the floor on the same disk in the same run."""
