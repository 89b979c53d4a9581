"""Guaranteed jobs: a fold over the job topic, and the actors that dispatch and report."""
