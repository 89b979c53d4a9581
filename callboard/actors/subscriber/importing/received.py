"""A record of the package topic as one subscriber sees it: for it or not, readable or not."""

from dataclasses import dataclass

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import addressed, open_record, told_in
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

    @property
    def foreign(self) -> bool:
        """Whether it does not concern this subscriber."""
        return self.message is None and self.problem is None


def received(record: Record, settings: SubscriberSettings) -> Received:
    """Headers decide where they can: records for others are not decoded, so damage in them does not matter."""
    headers = told_in(record.headers)
    offset, record_id, publisher = record.offset, stored_id(record, headers.get("id", "")), headers.get("publisher", "")
    followed = not publisher or settings.follows_publisher(publisher)
    if not followed or not addressed(headers.get("recipients", ""), settings.name):
        return Received(offset, record_id, publisher)
    try:
        message = open_record(record, PackageMessage, headers)
    except (Undecodable, SchemaTooNew) as error:
        return Received(offset, record_id, publisher, problem=error)
    mine = message if _concerns(message, settings) else None
    return Received(offset, record_id, message.publisher, mine, traceparent=headers.get("traceparent", ""))


def stored_id(record: Record, record_id: str) -> str:
    """What the ledger stores of the record at its offset: the id, and when it was appended. A publisher may append a
    package again to an older copy of the log, at the same offset but behind others.
    """
    return f"{record_id} {record.time_ns}" if record_id else ""


def _concerns(message: PackageMessage, settings: SubscriberSettings) -> bool:
    return (
        message.kind is not Kind.TEST
        and settings.follows_publisher(message.publisher)
        and (not message.recipients or settings.name in message.recipients)
    )
