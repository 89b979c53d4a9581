"""Bugs that workers and their jobs must show."""
