"""Keeps the topics short that would otherwise grow for as long as subscribers run."""
