"""``callboard pipeline``: jobs on the whole log, done by Spark."""
