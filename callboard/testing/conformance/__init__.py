"""Conformance suites that define what a log, a blob store, a repository and a store for folds are. They need no test
framework.
"""
