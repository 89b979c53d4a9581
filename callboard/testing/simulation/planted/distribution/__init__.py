"""Bugs that fleets must show."""
