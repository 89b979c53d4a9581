"""Where the tables of a run are published."""
