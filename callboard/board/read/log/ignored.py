"""Reports records on the log that are ignored because no trusted key signed them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from callboard.backends.examination import Finding, advice, problem
from callboard.backends.log import Log
from callboard.backends.logs.signed_log import Ignored, demands_signatures, ignored_on
from callboard.backends.logs.walk import newest
from callboard.errors import LogError
from callboard.messages.topics import Topics

RECENT_NS = 86_400 * 10**9
"""Records older than this may be from before keys were required, and stay until they are trimmed."""

FIX = (
    "see `callboard log list` for the records; set signing_key in the process that writes them if they should count; "
    "otherwise find out who else can write to the log, and stop it"
)


NEWEST = 200
"""Records checked at the end of each topic by a process that does not read all of it anyway."""


async def look(log: Log, topics: Topics) -> Mapping[str, Ignored]:
    """By topic, the ignored records among all that this process has read, and among the newest records."""
    if demands_signatures(log):
        for topic in topics.but_packages:
            with suppress(LogError):
                _ = [record async for record in newest(log, topic, NEWEST)]
    return ignored_on(log)


def sentences(ignored: Mapping[str, Ignored]) -> Iterable[str]:
    """A sentence for each topic that has ignored records."""
    for topic, each in sorted(ignored.items()):
        what = "1 record does not count" if each.count == 1 else f"{each.count} records do not count"
        yield f"topic {topic}: {what}, the newest at offset {each.offset}: {each.reason}"


def examine_ignored(ignored: Mapping[str, Ignored], now_ns: int) -> list[Finding]:
    """The same as findings, with a remedy; only advice if all of them are old."""
    recent = any(now_ns - each.time_ns < RECENT_NS for each in ignored.values())
    return [(problem if recent else advice)(sentence, FIX) for sentence in sentences(ignored)]
