"""Quarantined packages, and how they are retried."""
