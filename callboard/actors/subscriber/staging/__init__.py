"""Waiting for the result of a golden subscriber."""
