"""Commands to subscribers, and what is done to their repositories."""
