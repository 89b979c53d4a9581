"""Commands that make a request of a publisher."""
