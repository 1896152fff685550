"""Events for the doors, dispatch of agents, the outbox, and outcomes of messages."""
