"""The context of logs that goes with a job, from the code that adds it to its function, and the trace."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from callboard.board.jobs.work.ending import printable
from callboard.board.jobs.work.running_job import RunningJob
from callboard.messages.jobs.job_messages import JobContext
from callboard.messages.jobs.limits import CONTEXT_CHARS_MAX, CONTEXT_NAMES_MAX
from callboard.telemetry.spans import Span

TRACEPARENT = "traceparent"
"""The name under which the span goes with a job that has added it."""


def context_here(names: Iterable[str], span: Span) -> dict[str, str]:
    """What the code that runs now has bound under these names by structlog, as text of 200 characters at most, and the
    span, unless there are 10 names already.
    """
    found: dict[str, str] = {}
    if names and "structlog" in sys.modules:  # else nothing is bound
        from structlog.contextvars import get_contextvars

        bound = get_contextvars()
        found = {name: printable(bound[name], CONTEXT_CHARS_MAX) for name in names if name in bound}
    if (trace := span.traceparent) and len(found.keys() - {TRACEPARENT}) < CONTEXT_NAMES_MAX:
        found[TRACEPARENT] = trace
    return found


def context_of(own: Mapping[str, str] | None, here: Mapping[str, str]) -> Mapping[str, str]:
    """The context of a job: its own, if it has one, or that of the code that adds it; of this, the span in any case."""
    if own is None:
        return here
    is_wanted = TRACEPARENT in here and TRACEPARENT not in own and len(own) < CONTEXT_NAMES_MAX
    return {**own, TRACEPARENT: here[TRACEPARENT]} if is_wanted else own


def with_said(context: Mapping[str, str], said: Mapping[str, str]) -> dict[str, str]:
    """The context with this in it, shortened as it has to be; rather this than what there was, if not all has room."""
    texts = {name: printable(text, CONTEXT_CHARS_MAX) for name, text in said.items()}
    return dict(islice({**texts, **context, **texts}.items(), CONTEXT_NAMES_MAX))


def contexts(given: Sequence[Mapping[str, str] | None]) -> tuple[tuple[JobContext, ...], tuple[int, ...]]:
    """The contexts of jobs, each once, and the place of each job's among them; nothing if none has any."""
    if not any(given):
        return (), ()
    found: dict[tuple[tuple[str, str], ...], int] = {}
    places = tuple([found.setdefault(tuple(sorted((its or {}).items())), len(found)) for its in given])
    return tuple(JobContext(names=tuple(dict(its)), values=tuple(dict(its).values())) for its in found), places


def bind(job: RunningJob) -> None:
    """Bind the job and its context in what the present task or thread logs, if the service uses structlog."""
    if "structlog" in sys.modules:  # it takes 3 µs, and nobody else would see it
        from structlog.contextvars import bind_contextvars

        bind_contextvars(**{**job.context, "job": job.id, "topic": job.topic, "attempt": job.attempt})
