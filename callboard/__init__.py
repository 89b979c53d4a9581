"""callboard: distributes content from publishers to fleets of subscribers through one persisted log."""
