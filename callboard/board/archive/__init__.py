"""Maintains, inspects and restores the archive of a board."""
