"""The ledger: what a subscriber remembers, and how it changes."""
