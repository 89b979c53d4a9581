"""The conditions that a package must pass before it is imported."""
