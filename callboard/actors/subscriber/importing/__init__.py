"""Packages: fetched, imported in order, retried, or given up."""
