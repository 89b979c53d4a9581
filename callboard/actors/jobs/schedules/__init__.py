"""Schedules of jobs: their rules, and their ticks."""
