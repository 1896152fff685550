"""Public test kit: scripted servers, clocks and contract suites."""
