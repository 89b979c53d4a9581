"""A log serves many: its capabilities, concurrency, closing, crashes and restarts."""
