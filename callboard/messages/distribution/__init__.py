"""The messages of distribution: on the log, between actors, in the ledger, and to other services."""
