"""A topic has bounds and an identity, until it is trimmed or replaced."""
