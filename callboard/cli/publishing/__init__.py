"""Commands that send a request to a publisher."""
