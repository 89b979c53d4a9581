"""The cluster on a board's log, for operators: its members, its history, and commands to it."""
