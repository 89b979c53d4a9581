"""Backends in memory, and backends that fail."""
