"""Events that a service declares: their schema, their versions, and their records on the log."""
