"""Maintains a board: health, retention, verification, repair, seeding."""
