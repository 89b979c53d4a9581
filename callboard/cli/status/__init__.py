"""Commands that show how a board is."""
