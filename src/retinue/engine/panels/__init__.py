"""Browser windows: what they show, and asking one to open something."""
