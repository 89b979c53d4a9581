"""A real SDK for one test: its spans are kept in memory."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler


class Spans:
    """The spans that have ended."""

    def __init__(self, sampler: Sampler = ALWAYS_ON) -> None:
        self.kept = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler)
        self.provider.add_span_processor(SimpleSpanProcessor(self.kept))
        self.tracer = self.provider.get_tracer("the service")

    def named(self, name: str) -> list[ReadableSpan]:
        """Those with this name, in the order of their ends."""
        return [span for span in self.kept.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only one with this name."""
        [span] = self.named(name)
        return span


def install(patch: pytest.MonkeyPatch, spans: Spans) -> Spans:
    """Make this the SDK of the process."""
    patch.setattr(trace, "_TRACER_PROVIDER", spans.provider)
    return spans


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    its = install(monkeypatch, Spans())
    yield its
    its.provider.shutdown()


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    """The trace ids and span ids that it is linked with."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def ids(span: ReadableSpan) -> tuple[int, int]:
    """Its trace id and span id."""
    return span.context.trace_id, span.context.span_id


def parent(span: ReadableSpan) -> tuple[int, int] | None:
    """Those of its parent."""
    return (span.parent.trace_id, span.parent.span_id) if span.parent else None
