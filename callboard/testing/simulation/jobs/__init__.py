"""Workers and their jobs: the plan of a seed, how it is carried out, and an oracle that reads the job topic."""
