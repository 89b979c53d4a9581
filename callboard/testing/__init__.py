"""Tools for testing callboard, and what is built on it."""
