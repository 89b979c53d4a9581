"""Snapshots of the job topic, from which newcomers go on."""
