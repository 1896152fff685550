"""What happens between two commits: decide, do, commit."""
