"""Requests: admitted, throttled, and appended to the log as packages."""
