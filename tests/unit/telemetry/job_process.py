"""A job that runs in a process of its own, where this module imports OpenTelemetry."""

from opentelemetry import trace

from callboard import JobRegistry

jobs = JobRegistry()


@jobs.job("which/span", process=True)
def which_span() -> list[int]:
    its = trace.get_current_span().get_span_context()
    return [its.trace_id, its.span_id]
