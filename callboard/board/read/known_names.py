"""Checks that names given by a user are known on this board."""

import time
from collections.abc import Iterable

from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements
from callboard.backends.log import Log
from callboard.backends.logs.walk import backwards
from callboard.door.names import unknown
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import Member
from callboard.messages.distribution.topic_messages import DiscoveryMessage
from callboard.messages.headers import told_in
from callboard.messages.relayed import site_of
from callboard.messages.topics import Topics

LOOK_BACK = 100_000
"""Limit of packages read backwards in search of a publisher's name: a second's work, and only for one that has not
shipped for long, or never did."""

EXPECT = " If it starts later, add --expect"
"""The hint for a name that is not known yet."""


async def known_publishers(log: Log, topics: Topics, wanted: Iterable[str]) -> set[str]:
    """Publishers known from their packages, and from announcements of subscribers; searches for the wanted ones."""
    missing, known = set(wanted), set[str]()
    first, end = await log.bounds(topics.package)
    async for record in backwards(log, topics.package, max(first, end - LOOK_BACK), end):
        known.add(told_in(record.headers).get("publisher", ""))
        if missing <= known:
            break
    if not missing <= known:
        for said in (await _announced(log, topics)).values():  # may be followed again
            known.update(said.configuration.follows, (state.publisher for state in said.states))
    return known - {""}


async def demand_publisher(log: Log, topics: Topics, publisher: str) -> None:
    """Raise ``RequestRefused`` for an unknown publisher; an empty name stands for all."""
    if publisher and publisher not in (known := await known_publishers(log, topics, [publisher])):
        raise unknown("publisher", publisher, known)


def demand_subscribers(known: Iterable[Member], wanted: Iterable[str], *, expect: bool) -> tuple[str, ...]:
    """The unknown ones among ``wanted``; those of a site are known to its relay alone.

    Raises ``RequestRefused`` unless they are expected.
    """
    names = {each.announcement.subscriber: each.announcement.site for each in known}
    absent = tuple(name for name in wanted if name not in names and names.get(site_of(name)) is None)
    if absent and not expect:
        raise unknown("subscriber", absent[0], names, EXPECT)
    return absent


async def demand_start(log: Log, topics: Topics, start: str | int) -> None:
    """Raise ``RequestRefused`` for an offset beyond the end of the log."""
    if isinstance(start, int) and start > (end := (await log.bounds(topics.package)).end):
        raise RequestRefused(
            f"start is {start}, but the log ends at offset {end}; choose an offset up to that", code="out_of_range"
        )


async def demand_others(log: Log, topics: Topics, subscriber: str, follows: tuple[str, ...], golden: str) -> None:
    """Raise ``RequestRefused`` for a publisher or golden subscriber that is not known, so that waiting is in vain.

    Names that this subscriber announced before are accepted: the publisher's packages may be gone from the log since.
    """
    if golden:
        said = await _announced(log, topics)
        before = said.pop(subscriber, None)
        if golden not in said and (before is None or before.configuration.golden != golden):
            raise unknown("subscriber", golden, said, EXPECT)
    if follows:
        publishers = await known_publishers(log, topics, follows)
        if missing := sorted(set(follows) - publishers):
            raise unknown("publisher", missing[0], publishers, EXPECT)


async def _announced(log: Log, topics: Topics) -> dict[str, DiscoveryMessage]:
    """The last announcement of every subscriber that was not forgotten."""
    heard = LastAnnouncements(topics.discovery)
    await heard.catch_up(log, time.time_ns())
    return {name: word.announcement for name, word in heard.members.items()}
