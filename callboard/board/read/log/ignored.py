"""What does not count on the log, for people: records that nobody has signed who has a key of the board."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from callboard.backends.examination import Finding, advice, problem
from callboard.backends.log import Log
from callboard.backends.logs.signed_log import Ignored, demands_signatures, ignored_on
from callboard.board.read.log.log_records import newest_start
from callboard.errors import LogError
from callboard.messages.topics import Topics

RECENT_NS = 86_400 * 10**9
"""What was appended before may be of the time before keys were demanded, and stays until it is removed."""

FIX = (
    "see `callboard log list` for the records; set signing_key where they are written if they should count; otherwise "
    "find out who else can write to the log, and end that"
)


NEWEST = 200
"""Records at the end of each topic that are looked at by whoever is asked: most of the others it reads anyway."""


async def look(log: Log, topics: Topics) -> Mapping[str, Ignored]:
    """By topic, what does not count of all that this process has read, and of the newest records."""
    if demands_signatures(log):
        for topic in topics.but_packages:
            with suppress(LogError):
                await log.read(topic, await newest_start(log, topic, NEWEST), NEWEST)
    return ignored_on(log)


def told(ignored: Mapping[str, Ignored]) -> Iterable[str]:
    """A sentence for each topic that has such records."""
    for topic, each in sorted(ignored.items()):
        what = "1 record does not count" if each.count == 1 else f"{each.count} records do not count"
        yield f"topic {topic}: {what}, the newest at offset {each.offset}: {each.reason}"


def examine_ignored(ignored: Mapping[str, Ignored], now_ns: int) -> list[Finding]:
    """The same, and what to do about it; only advice if all of it is old."""
    recent = any(now_ns - each.time_ns < RECENT_NS for each in ignored.values())
    return [(problem if recent else advice)(sentence, FIX) for sentence in told(ignored)]
