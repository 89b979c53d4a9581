"""Ships a tree that is too large for one package."""
