"""Which subscribers exist, and what state each is in."""
