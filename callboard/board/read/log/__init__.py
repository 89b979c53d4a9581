"""Decodes, searches and exports the records of the log."""
