"""Drives single decisions in tests."""
