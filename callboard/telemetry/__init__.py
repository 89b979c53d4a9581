"""Traces: what a package or a job went through, across processes. See docs/tracing.md."""

from callboard.telemetry.log_lines import add_trace_ids

__all__ = ["add_trace_ids"]
