"""Places to publish the tables of a run."""
