"""Removes the blobs that nothing needs."""
