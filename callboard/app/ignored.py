"""What does not count on the log, for people: records that nobody has signed who has a key of the board."""

from collections.abc import Iterable, Mapping

from callboard.backends.examination import Finding, advice, problem
from callboard.backends.signed_log import Ignored

RECENT_NS = 86_400 * 10**9
"""What was appended before may be of the time before keys were demanded, and stays until it is removed."""

FIX = (
    "see `callboard log list` for the records; set signing_key where they are written if they should count; otherwise "
    "find out who else can write to the log, and end that"
)


def told(ignored: Mapping[str, Ignored]) -> Iterable[str]:
    """A sentence for each topic that has such records."""
    for topic, each in sorted(ignored.items()):
        what = "1 record does not count" if each.count == 1 else f"{each.count} records do not count"
        yield f"topic {topic}: {what}, the newest at offset {each.offset}: {each.reason}"


def examine_ignored(ignored: Mapping[str, Ignored], now_ns: int) -> list[Finding]:
    """The same, and what to do about it; only advice if all of it is old."""
    recent = any(now_ns - each.time_ns < RECENT_NS for each in ignored.values())
    return [(problem if recent else advice)(sentence, FIX) for sentence in told(ignored)]
