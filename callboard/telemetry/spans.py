"""Spans of OpenTelemetry, if the service uses it.

Nobody has set up an SDK who has not imported the API. So this imports it only if something else has: without an SDK, a
span costs a microsecond, and nothing is loaded.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, copy_context
from functools import lru_cache
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from callboard.escaping import escaped
from callboard.telemetry.traceparent import Traceparent, parsed
from callboard.version import __version__

if TYPE_CHECKING:
    from opentelemetry import trace

Attributes = Mapping[str, str | int]

OUTCOME = "callboard.outcome"


class Span:
    """Something that callboard does, as a trace shows it; or nothing, if nobody traces."""

    __slots__ = ("_its",)

    def __init__(self, its: "trace.Span | None" = None) -> None:
        self._its = its

    @property
    def traceparent(self) -> str:
        """The header of what it leads to; empty if there is no trace."""
        if self._its is None or not (its := self._its.get_span_context()).is_valid:
            return ""
        return str(Traceparent(f"{its.trace_id:032x}", f"{its.span_id:016x}", its.trace_flags))

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""
        if self._its is not None:
            self._its.set_attributes(_plain(attributes))

    def fail(self, error: BaseException) -> None:
        """It has ended with this error."""
        if self._its is None:
            return
        if not isinstance(error, Exception):  # such as the cancellation of its task
            self.set({OUTCOME: "cancelled"})
            return
        from opentelemetry.trace import Status, StatusCode

        whole, kind = format_exception(error), type(error).__name__  # not str(error), which an error can make fail
        message = escaped(whole[-1].strip().partition(": ")[2])
        lines = "\n".join(map(escaped, "".join(whole).split("\n")))
        self.set({OUTCOME: "failed", "error.type": kind})
        self._its.add_event(
            "exception", {"exception.type": kind, "exception.message": message, "exception.stacktrace": lines}
        )
        self._its.set_status(Status(StatusCode.ERROR, message))

    def current(self) -> AbstractContextManager[object]:
        """Makes it the present one, the parent of what a hook or a function does."""
        if self._its is None:
            return nullcontext()
        from opentelemetry.trace import use_span

        return use_span(self._its, record_exception=False, set_status_on_exception=False)

    def end(self) -> None:
        """It has ended."""
        if self._its is not None:
            self._its.end()


NOTHING = Span()


def is_traced() -> bool:
    """Whether the service has set up an SDK."""
    if "opentelemetry.trace" not in sys.modules:
        return False
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def producing(what: str, where: str, attributes: Attributes) -> Iterator[Span]:
    """The span of something that goes on the log, a child of the present one."""
    if not is_traced():
        yield NOTHING
        return
    with _running([_begun("PRODUCER", "send", what, where, attributes)]) as [span]:
        yield span


@contextmanager
def consuming(what: str, found: Sequence[tuple[str, str, Attributes]]) -> Iterator[Sequence[Span]]:
    """The spans of what is done with records, each given by where it was, its ``traceparent``, and attributes.

    Each is the first of its own trace, linked with the span that led to its record: that may have ended long ago, and
    there may be hundreds of subscribers. A single one is the present span meanwhile.
    """
    if not is_traced():
        yield [NOTHING] * len(found)
        return
    with _running([_begun("CONSUMER", "process", what, at, its, link=link) for at, link, its in found]) as spans:
        yield spans


@contextmanager
def following(what: str, where: str, parent: str, attributes: Attributes) -> Iterator[Span]:
    """The span of what follows from another one, given by its ``traceparent``, as a child of that."""
    if not is_traced():
        yield NOTHING
        return
    with _running([_begun("INTERNAL", "process", what, where, attributes, parent=parent)]) as [span]:
        yield span


def go_on(parent: str) -> None:
    """Make a span of another process, given by its ``traceparent``, the present one for the rest of this context."""
    if "opentelemetry.trace" in sys.modules and (its := parsed(parent)):
        from opentelemetry import context

        context.attach(_within(its))


def apart() -> Context:
    """A copy of the present context without a span, for what goes on when that has ended."""
    copy = copy_context()
    if is_traced():
        from opentelemetry import context

        copy.run(context.attach, context.Context())
    return copy


@contextmanager
def _running(spans: list[Span]) -> Iterator[list[Span]]:
    try:
        with spans[0].current() if len(spans) == 1 else nullcontext():
            yield spans
    except BaseException as error:
        for each in spans:
            each.fail(error)
        raise
    finally:
        for each in spans:
            each.end()


def _begun(
    kind: str, sort: str, what: str, where: str, attributes: Attributes, *, link: str | None = None, parent: str = ""
) -> Span:
    """A new span: a child of the parent or, without it, of the present one; one with a ``link``, even an empty one,
    has no parent.
    """
    from opentelemetry import context, trace

    named = {
        "messaging.system": "callboard", "messaging.operation.type": sort, "messaging.operation.name": what,
        "messaging.destination.name": where,
    }  # fmt: skip
    above = parsed(parent)
    linked = parsed(link or "")
    within = _within(above) if above else context.Context() if link is not None else None
    links = [trace.Link(_remote(linked))] if linked else None
    tracer = _tracer(trace.get_tracer_provider())
    its = _plain({**named, **attributes})
    return Span(tracer.start_span(f"{what} {escaped(where)}", within, trace.SpanKind[kind], its, links))


def _within(its: Traceparent) -> Any:
    """OpenTelemetry's context within a span of another process."""
    from opentelemetry import context, trace

    return trace.set_span_in_context(trace.NonRecordingSpan(_remote(its)), context.Context())


def _remote(its: Traceparent) -> "trace.SpanContext":
    from opentelemetry import trace

    flags = trace.TraceFlags(its.flags)
    return trace.SpanContext(int(its.trace_id, 16), int(its.span_id, 16), is_remote=True, trace_flags=flags)


@lru_cache(maxsize=1)  # a new tracer costs more than a span
def _tracer(provider: "trace.TracerProvider") -> "trace.Tracer":
    return provider.get_tracer("callboard", __version__)


def _plain(attributes: Attributes) -> dict[str, str | int]:
    """The attributes, as every exporter takes them."""
    return {name: escaped(value) if isinstance(value, str) else value for name, value in attributes.items()}
