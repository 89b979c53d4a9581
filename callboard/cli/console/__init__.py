"""``callboard console``: pages and an HTTP API about the board."""
