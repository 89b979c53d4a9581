"""``callboard pipeline``: Spark jobs on the whole log."""
