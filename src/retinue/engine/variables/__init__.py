"""Variables: which value applies to an agent, and which ones a child needs."""
