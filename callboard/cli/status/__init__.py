"""Commands that show the state of a board."""
