"""Pure decisions: what comes next, when a turn ends, what follows a failure."""
