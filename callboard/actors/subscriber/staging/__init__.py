"""Waits for the verdict of a golden subscriber."""
