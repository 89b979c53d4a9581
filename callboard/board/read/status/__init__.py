"""Every subscriber and publisher: how it is, how far behind, and what to do."""
