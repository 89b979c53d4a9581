"""The status of every subscriber and publisher: its state, its lag, and what to do."""
