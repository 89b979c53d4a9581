"""``callboard log``: what is on the log."""
