"""Agents inside the service's process, on its event loop."""
