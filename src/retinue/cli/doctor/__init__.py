"""`retinue doctor`: checks the project and suggests fixes."""
