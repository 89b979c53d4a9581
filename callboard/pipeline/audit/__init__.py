"""Who shipped what, and who has it since when."""
