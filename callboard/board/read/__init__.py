"""Answers questions about a board: which subscriber has what, which has not, and why."""
