"""Packages: fetched, imported in their order, tried again, or given up."""
