"""The functions of jobs: how services define them, what they take, and the one that every worker has."""
