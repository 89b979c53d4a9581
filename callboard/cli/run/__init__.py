"""``callboard run``: agents as services."""
