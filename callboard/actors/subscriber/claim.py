"""Who holds a subscriber's name: a fold over the announcements, so that everybody comes to the same answer."""

from collections.abc import Iterable

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import DiscoveryMessage, State
from callboard.messages.headers import open_record
from callboard.messages.record import Record

LOOKBACK = 8192
"""How many offsets before its own claim a subscriber looks at. The holder is found if it has announced itself in
there, and others have not done so in vain just before: at one announcement a second, enough for 100 subscribers."""


def holder(name: str, records: Iterable[Record], ttl_s: float) -> DiscoveryMessage | None:
    """The last word of the instance that holds the name at the end of these records of the discovery topic.

    A free name goes to the first instance that announces itself. It keeps the name until it says that it has
    stopped, or is silent for longer than ``ttl_s`` seconds by the log's times; what others announce under the name
    meanwhile gives them nothing. So of two that start at once exactly one gets it, and nobody can take it from an
    instance that starts again in time.
    """
    held: DiscoveryMessage | None = None
    heard_ns = 0
    for record in records:
        message = _announcement(record)
        if message is None or message.subscriber != name:
            continue
        if held is not None and record.time_ns - heard_ns > ttl_s * 1e9:
            held = None
        if held is None or held.subscriber_instance == message.subscriber_instance:
            held = None if message.state is State.STOPPED else message
            heard_ns = record.time_ns
    return held


def _announcement(record: Record) -> DiscoveryMessage | None:
    if record.header("type") not in ("DiscoveryMessage", "1"):
        return None
    try:
        return open_record(record, DiscoveryMessage)
    except (Undecodable, SchemaTooNew):
        return None  # what is not understood cannot be taken for a rival
