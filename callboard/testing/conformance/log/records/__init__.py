"""Records are appended once, in order, and come back as they were written."""
