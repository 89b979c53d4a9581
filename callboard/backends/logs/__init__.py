"""The built-in logs."""
