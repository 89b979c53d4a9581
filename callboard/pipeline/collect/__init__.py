"""Removes unused blobs."""
