"""``callboard topology``: the cluster on the log."""
