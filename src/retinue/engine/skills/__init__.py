"""Skills: what agents are offered, how they read them, and how their command lines call back."""
