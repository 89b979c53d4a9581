"""Finding jobs, commands for those that are found, and what became of them all."""
