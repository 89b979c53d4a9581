"""The archive of a board: kept up, looked at, restored."""
