"""Real servers for tests, and networks that go wrong."""
