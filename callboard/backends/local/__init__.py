"""What folder and SQLite backends need of a local disk."""
