"""What a topic of a log is: offsets within bounds, and an identity, until it is trimmed or replaced."""
