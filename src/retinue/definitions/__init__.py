"""Templates of agents: what they are, how files define them, and what they may use."""
