"""The history of one entity, or of one row of a projection, folded again from the log."""
