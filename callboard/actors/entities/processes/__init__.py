"""Processes: entities that have something to do."""
