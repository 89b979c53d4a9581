"""What a relay adds to a package: who passed it on, and the offset that it has on each log before.

A relayed record has the payload and the headers of the original, and two headers more. ``relay`` is the name of the
relay that appended it here. ``path`` has the logs that it was on, oldest first, as ``LOG_ID@OFFSET`` with a space
between them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from callboard.messages import codec
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import HEADER_CHARS_MAX, SEPARATOR, RecordHeaders, told_in
from callboard.messages.record import NewRecord, Record

STEP = re.compile(r"([!-?A-~]{1,200})@([0-9]{1,19})")
"""The identity of a log, in printable ASCII without an @, and an offset."""

OFFSET_MAX = 2**63 - 1
"""No log has more; a larger one cannot be stored."""


def site_of(subscriber: str) -> str:
    """The subscriber itself, or for ``SITE/EDGE`` the relay that speaks for it."""
    return subscriber.partition(SEPARATOR)[0]


def is_for(recipients: Iterable[str], subscriber: str) -> bool:
    """Whether a package for these recipients, all if there are none, is one for the subscriber, or for its site."""
    recipients = tuple(recipients)
    return not recipients or subscriber in recipients or subscriber in map(site_of, recipients)


@dataclass(frozen=True, slots=True)
class Origin:
    """By which relay a record came here, and where it was before: the logs with its offset on each, oldest first."""

    relay: str
    path: tuple[tuple[str, int], ...]

    @property
    def last(self) -> tuple[str, int]:
        """The log that the relay read it from, and its offset there."""
        return self.path[-1]


def origin_of(record: Record) -> Origin | None:
    """Where a relayed record comes from; None for an original, or if its headers make no sense."""
    relay, path = record.header("relay"), parsed(record.header("path"))
    return Origin(relay, path) if relay and path else None


@lru_cache(maxsize=256)  # parsed several times per record
def parsed(path: str) -> tuple[tuple[str, int], ...]:
    """The steps of a header ``path``; none if it makes no sense."""
    steps = [STEP.fullmatch(step) for step in path.split(" ")] if path else []
    found = tuple((step[1], int(step[2])) for step in steps if step) if all(steps) else ()
    return found if all(offset <= OFFSET_MAX for _, offset in found) else ()


def has_passed(record: Record, log_id: str) -> bool:
    """Whether the record was on this log before, so that a relay to it would close a loop."""
    return any(log == log_id for log, _ in parsed(record.header("path")))


def is_too_far(record: Record, log_id: str) -> bool:
    """Whether the record has come through more logs than its header can name."""
    return len(_path(record, log_id)) > HEADER_CHARS_MAX


def relayed(record: Record, message: PackageMessage, relay: str, log_id: str) -> NewRecord:
    """The record to append to the log of the relay's site.

    Its key makes a repeated append harmless where logs know keys. The payload stays as it is, unless it names
    recipients: those of the site, without its name.

    Args:
        record: as read from the package log ``log_id``.
        message: what is in it.
        relay: the name of the relay.
        log_id: see ``record``.
    """
    payload, recipients = record.payload, site_recipients(message.recipients, relay)
    headers = RecordHeaders.parse(record.headers)
    if message.recipients:
        payload = codec.encode(replace(message, recipients=recipients))
        headers = replace(headers, recipients="\n".join(recipients))
    own = replace(headers, relay=relay, path=_path(record, log_id)).to_pairs()
    others = [(name, value) for name, value in record.headers if name not in told_in(record.headers) and name != "path"]
    return NewRecord(payload=payload, headers=(*own, *others), key=key(relay, log_id, record.offset))


def key(relay: str, log_id: str, offset: int) -> str:
    """The key under which a relay appends the record at this offset of the log that it reads."""
    return f"relay/{relay}/{log_id}/{offset}"


def site_recipients(recipients: Iterable[str], relay: str) -> tuple[str, ...]:
    """The recipients as named at the site; none if all of the site's subscribers are meant."""
    prefix = relay + SEPARATOR
    recipients = tuple(recipients)
    if relay in recipients:
        return ()
    return tuple(each.removeprefix(prefix) for each in recipients if each.startswith(prefix))


def _path(record: Record, log_id: str) -> str:
    before = record.header("path")
    return " ".join(filter(None, (before if parsed(before) else "", f"{log_id}@{record.offset}")))
