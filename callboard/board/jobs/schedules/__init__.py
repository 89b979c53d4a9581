"""Schedules of jobs: setting and reading them, and building cron expressions."""
