"""The event feed, dispatch of agents, the outbox, and outcomes of messages."""
