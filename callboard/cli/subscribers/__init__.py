"""Commands to subscribers, and operations on their repositories."""
