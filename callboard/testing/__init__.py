"""For tests of callboard and of what is built on it."""
