"""Bugs planted in relays."""
