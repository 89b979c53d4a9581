"""Distributed events: publishing them, and listening."""
