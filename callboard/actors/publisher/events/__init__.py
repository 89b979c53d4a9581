"""What becomes of packages, told to other services."""
