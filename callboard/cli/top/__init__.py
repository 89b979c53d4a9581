"""``callboard top``: the fleet and the jobs on one screen, as they are now."""
