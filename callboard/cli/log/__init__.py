"""``callboard log``: shows and trims the records on the log."""
