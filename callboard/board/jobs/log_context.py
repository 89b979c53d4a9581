"""The context of logs that goes with a job, from the code that adds it to its function."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from callboard.board.jobs.work.ending import printable
from callboard.board.jobs.work.running_job import RunningJob
from callboard.messages.jobs.job_messages import JobContext
from callboard.messages.jobs.limits import CONTEXT_CHARS_MAX, CONTEXT_NAMES_MAX


def bound_here(names: Iterable[str]) -> dict[str, str]:
    """What the code that runs now has bound under these names by structlog, as text of 200 characters at most."""
    if not names or "structlog" not in sys.modules:  # then nothing is bound
        return {}
    from structlog.contextvars import get_contextvars

    bound = get_contextvars()
    return {name: printable(bound[name], CONTEXT_CHARS_MAX) for name in names if name in bound}


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
