"""What happens by itself: schedules, the heartbeat, and what they watch."""
