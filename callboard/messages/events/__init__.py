"""Distributed events: what is on their topic and on that of their listeners."""
