"""What agents ask their owner, and what the owner decides."""
