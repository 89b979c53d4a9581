"""Writes jobs to the outbox within a transaction of the caller."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from callboard.board.jobs.log_context import context_of, contexts
from callboard.board.jobs.new_job import NewJob, encoded
from callboard.errors import ConfigError, RequestRefused, Undecodable
from callboard.messages.jobs.job_messages import JobsAddedMessage
from callboard.messages.jobs.limits import check_message

_INSERT = """
INSERT INTO callboard_outbox (topic, payload, options)
SELECT topic, payload, options::jsonb
FROM unnest({0}::text[], {1}::bytea[], {2}::text[]) WITH ORDINALITY AS given (topic, payload, options, place)
ORDER BY place"""
"""The options are passed as text, as the connection may have a codec of its own for ``jsonb``."""

_ASYNCPG, _PSYCOPG = _INSERT.format("$1", "$2", "$3"), _INSERT.format("%s", "%s", "%s")
_NO_TABLE = "42P01"


class Pending(NamedTuple):
    """A job, its payload, and when it was given: its delay counts from there, in milliseconds since the epoch."""

    job: NewJob
    payload: bytes
    ms: int


def added(batch: Sequence[Pending], request: str, creator: str, void_from: int = -1) -> JobsAddedMessage:
    """The message that adds the jobs. Raises ``Undecodable`` for what is out of bounds.

    Raises ``RequestRefused`` for jobs that run after others: that there are none would be known too late.
    """
    if any(each.job.after for each in batch):
        raise RequestRefused("a job that is added within a transaction cannot run after others; leave out `after`")
    topics = {topic: place for place, topic in enumerate(dict.fromkeys(each.job.topic for each in batch))}
    options = (each.job.options(place, each.ms) for place, each in enumerate(batch))
    found, context_of = contexts([each.job.context for each in batch])
    message = JobsAddedMessage(
        request=request, creator=creator, topics=tuple(topics),
        topic_of=tuple(topics[each.job.topic] for each in batch), payloads=tuple(each.payload for each in batch),
        options=tuple(each for each in options if each is not None), void_from=void_from,
        contexts=found, context_of=context_of,
    )  # fmt: skip
    check_message(message)
    return message


Columns = tuple[list[str], list[bytes], list[str]]


def columns(jobs: Sequence[NewJob], context: Mapping[str, str]) -> Columns:
    """Topics, payloads and options of the jobs, which were checked, with this context for those without their own.
    Raises ``RequestRefused``.
    """
    payloads = [encoded(job.payload) for job in jobs]
    for job, payload in zip(jobs, payloads, strict=True):
        try:
            added([Pending(job, payload, 0)], "-", "-")
        except Undecodable as error:
            raise RequestRefused(str(error)) from error
    return [job.topic for job in jobs], payloads, [json.dumps(_options(job, context)) for job in jobs]


def _options(job: NewJob, context: Mapping[str, str]) -> dict[str, object]:
    plain = NewJob(topic=job.topic, payload=job.payload)
    names = (name for name in NewJob.__slots__ if getattr(job, name) != getattr(plain, name))
    found = {name: getattr(job, name) for name in names}
    return found | ({"context": its} if (its := context_of(job.context, context)) else {})


async def write(connection: Any, its: Columns) -> None:
    """Write over an asyncpg connection, or an ``AsyncConnection`` of psycopg."""
    is_asyncpg = hasattr(connection, "fetchval") and hasattr(connection, "is_in_transaction")  # a pool is in none
    is_psycopg = hasattr(connection, "cursor") and iscoroutinefunction(getattr(connection, "execute", None))
    if not is_asyncpg and not is_psycopg:
        raise _unfit(connection, "an asyncpg connection or a psycopg.AsyncConnection; callboard.sync takes others")
    _demand_transaction(connection)
    with _explained():
        if is_asyncpg:
            await connection.execute(_ASYNCPG, *its)
            return
        async with connection.cursor() as cursor:
            await cursor.execute(_PSYCOPG, its)


def write_blocking(connection: Any, its: Columns) -> None:
    """Write over a ``psycopg.Connection``, or another one that has cursors."""
    if hasattr(connection, "fetchval") or iscoroutinefunction(getattr(connection, "execute", None)):
        raise _unfit(connection, "a psycopg.Connection; use callboard without sync for asynchronous ones")
    is_psycopg = hasattr(getattr(connection, "info", None), "transaction_status")
    if not hasattr(connection, "cursor") or not (is_psycopg or getattr(connection, "vendor", "") == "postgresql"):
        raise _unfit(connection, "a psycopg.Connection, or Django's of a PostgreSQL database")
    _demand_transaction(connection)
    with _explained(), connection.cursor() as cursor:
        cursor.execute(_PSYCOPG, its)


def _unfit(connection: Any, expected: str) -> RequestRefused:
    return RequestRefused(
        f"the connection is {type(connection).__module__}.{type(connection).__name__}, not {expected}"
    )


def _demand_transaction(connection: Any) -> None:
    """Raise ``RequestRefused`` if the jobs would be committed at once. psycopg begins a transaction by itself, unless
    it is told not to.
    """
    is_closed = getattr(connection, "is_closed", None) or (lambda: getattr(connection, "closed", False))
    if is_closed():
        raise RequestRefused("the connection is closed; open one, and a transaction")
    if hasattr(connection, "is_in_transaction"):
        is_in_transaction = connection.is_in_transaction()
    elif hasattr(connection, "get_autocommit"):  # Django's, which may not have connected yet
        is_in_transaction = not connection.get_autocommit()
    else:
        is_in_transaction = not connection.autocommit or connection.info.transaction_status != 0
    if not is_in_transaction:
        raise RequestRefused(
            "the connection is in no transaction; use `async with connection.transaction():` (of Django, "
            "`with transaction.atomic():`), or board.jobs.add"
        )


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if getattr(error, "sqlstate", "") != _NO_TABLE:
            raise
        raise ConfigError(
            "the database has no table callboard_outbox, or not in the search_path of this connection; create it: "
            "callboard outbox create --database URL"
        ) from error
