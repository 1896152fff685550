"""Skills: which ones agents are offered, how they read them, and calls from command lines."""
