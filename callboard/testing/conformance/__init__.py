"""Conformance suites that define what a log, a blob store and a repository are. They need no test framework."""
