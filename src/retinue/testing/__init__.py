"""Public kit for tests: scripted servers, clocks and contract suites."""
