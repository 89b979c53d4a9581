"""The package format: written, read and checked."""
