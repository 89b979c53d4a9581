"""The messages of the job topic."""
