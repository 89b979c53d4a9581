"""What became of jobs, as it happens and as it was."""
