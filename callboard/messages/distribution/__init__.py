"""The messages of distribution: on the log, between actors, in the ledger, and for other services."""
