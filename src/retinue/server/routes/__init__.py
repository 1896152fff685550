"""The operations, one module for each noun."""
