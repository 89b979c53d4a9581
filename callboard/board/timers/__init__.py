"""Timers of a service."""
