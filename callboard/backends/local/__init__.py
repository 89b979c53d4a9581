"""Local-disk support for the folder and SQLite backends."""
