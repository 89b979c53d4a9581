"""A record of the package topic as one subscriber sees it: for it or not, readable or not."""

from collections.abc import Collection
from dataclasses import dataclass, field

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.content.importing.admission import concerns
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import open_record, told_in
from callboard.messages.record import Record


@dataclass(frozen=True, slots=True)
class Received:
    """The content of the record. Without a message it is foreign, or ``problem`` says why it cannot be read."""

    offset: int
    record_id: str
    publisher: str
    message: PackageMessage | None = None
    problem: CallboardError | None = None
    traceparent: str = ""
    record: Record | None = field(default=None, compare=False, repr=False)

    @property
    def foreign(self) -> bool:
        """Whether it does not concern this subscriber."""
        return self.message is None and self.problem is None


def received(record: Record, settings: SubscriberSettings) -> Received:
    """Headers decide where they can: records for others are not decoded, so damage in them does not matter."""
    headers = told_in(record.headers)
    offset, record_id, publisher = record.offset, stored_id(record, headers.get("id", "")), headers.get("publisher", "")
    followed = not publisher or settings.follows_publisher(publisher)
    if not followed or not _is_for(tuple(filter(None, headers.get("recipients", "").split("\n"))), settings):
        return Received(offset, record_id, publisher)
    try:
        message = open_record(record, PackageMessage, headers)
    except (Undecodable, SchemaTooNew) as error:
        return Received(offset, record_id, publisher, problem=error)
    mine = message if _concerns(message, settings) else None
    return Received(
        offset, record_id, message.publisher, mine, traceparent=headers.get("traceparent", ""), record=record
    )


def stored_id(record: Record, record_id: str) -> str:
    """What the ledger stores of the record at its offset: the id, and when it was appended. A publisher may append a
    package again to an older copy of the log, at the same offset but behind others.
    """
    return f"{record_id} {record.time_ns}" if record_id else ""


def _concerns(message: PackageMessage, settings: SubscriberSettings) -> bool:
    if not settings.follows_publisher(message.publisher) or not _is_for(message.recipients, settings):
        return False
    if settings.site:
        return concerns(message, PathPatterns(settings.include, settings.exclude))
    return message.kind is not Kind.TEST


def _is_for(recipients: Collection[str], settings: SubscriberSettings) -> bool:
    return not recipients or any(map(settings.speaks_for, recipients))
