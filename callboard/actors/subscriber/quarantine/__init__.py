"""Packages that are set aside, and how they are tried again."""
