"""Requests: admitted, held up, and appended to the log as packages."""
