"""The data source ``callboard``: topics as tables."""
