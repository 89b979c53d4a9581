"""Relays: a subscriber that appends what it reads to another board's log, and speaks for that board's subscribers."""
