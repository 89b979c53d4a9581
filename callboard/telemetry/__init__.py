"""Traces: what a package or a job went through, across processes."""
