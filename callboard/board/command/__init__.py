"""Commands to subscribers, and packages sent again."""
