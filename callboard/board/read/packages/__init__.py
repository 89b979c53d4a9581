"""One package: what became of it at each subscriber, and what it brought or removed."""
