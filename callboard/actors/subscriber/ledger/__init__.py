"""What a subscriber remembers, and how that changes."""
