"""From the start of a subscriber to its first package."""
