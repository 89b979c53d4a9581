"""Which span a log line belongs to."""

import sys
from collections.abc import MutableMapping
from typing import Any


def add_trace_ids(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor for structlog: adds ``trace_id`` and ``span_id`` while a span of OpenTelemetry is current."""
    if "opentelemetry.trace" in sys.modules:  # see spans.py
        from opentelemetry.trace import format_span_id, format_trace_id, get_current_span

        its = get_current_span().get_span_context()
        if its.is_valid and "trace_id" not in line:
            line["trace_id"], line["span_id"] = format_trace_id(its.trace_id), format_span_id(its.span_id)
    return line
