"""`retinue doctor`: checks what can be wrong, and says what to do about it."""
