"""What a package has to pass before it is imported."""
