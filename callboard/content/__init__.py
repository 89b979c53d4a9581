"""The package format: build, read, verify, apply."""
