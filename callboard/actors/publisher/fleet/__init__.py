"""Which subscribers there are, and how each is."""
