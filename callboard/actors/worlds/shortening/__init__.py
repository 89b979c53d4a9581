"""Shortens the topics that would otherwise grow for as long as subscribers run."""
