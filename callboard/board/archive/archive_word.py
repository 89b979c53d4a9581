"""Publishes on the log how far an archive is, so that by default nothing is removed before it is archived."""

import secrets
from collections.abc import Mapping

from callboard.backends.address import shown
from callboard.backends.log import Log
from callboard.messages.distribution.topic_messages import ArchivedMessage, ArchivedTopic
from callboard.messages.headers import new_record


async def tell_log(log: Log, discovery: str, place: str, archived: Mapping[str, int], now_ns: int) -> None:
    """Announce the first offset of each topic that the archive at ``place`` does not have."""
    topics = tuple(ArchivedTopic(topic=topic, next=following) for topic, following in sorted(archived.items()))
    said = ArchivedMessage(topics=topics, place=shown(place), time_ns=now_ns)
    record_id = secrets.token_hex(16)
    record = new_record(said, record_id=record_id, time_ns=now_ns, producer="archive", key=record_id)
    await log.append(discovery, [record])
