"""Real servers for tests, and unreliable networks."""
