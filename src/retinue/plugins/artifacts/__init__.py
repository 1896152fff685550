"""The built-in plugins for lists, notes and views."""
