"""Opens what a board consists of: its log, blob store, repositories, keys and hooks."""
