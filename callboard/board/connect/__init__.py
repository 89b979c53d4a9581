"""Opens the parts of a board: its log, blob store, repositories, keys and hooks."""
