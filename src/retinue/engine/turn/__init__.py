"""The loop that takes an agent from its inbox to rest: decide, perform, commit."""
