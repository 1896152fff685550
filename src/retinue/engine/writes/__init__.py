"""What each commit holds: pure functions from an outcome to a draft."""
