"""``callboard jobs``: what workers are to do."""
