"""Schedules, the heartbeat and watches."""
