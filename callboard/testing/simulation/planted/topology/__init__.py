"""Bugs that clusters must show."""
