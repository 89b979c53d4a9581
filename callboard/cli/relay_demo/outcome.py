"""What became of the packages: compared with plain reads of all logs."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.cli.demo.tree import differences
from callboard.cli.relay_demo.service import EDGES, tree_of
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.relayed import origin_of
from callboard.messages.topics import Topics

TOPIC = Topics.with_prefix().package


@dataclass(frozen=True, slots=True)
class Outcome:
    """``packages`` at the centre, with ``length`` bytes to fetch. Those that sites lack, have twice, or in another
    order; and the trees that are not identical.
    """

    packages: int
    length: int
    lost: int
    twice: int
    astray: int
    different: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.twice or self.astray or self.different)


async def compared(source: Path, folder: Path, centre: Log, sites: dict[str, Log]) -> Outcome:
    """Compare every site with the centre, and every tree with the source."""
    records = [record async for record in _all(centre)]
    wanted = [record.offset for record in records]
    lost = twice = astray = 0
    for log in sites.values():
        found = [came.last[1] async for record in _all(log) if (came := origin_of(record)) is not None]
        counts = Counter(found)
        lost += len(set(wanted) - set(found))
        twice += sum(count - 1 for count in counts.values())
        astray += sorted(counts) != list(counts)
    trees = [tree_of(folder, site, edge) for site in sites for edge in range(1, EDGES + 1)]
    different = tuple(f"{tree}: {its[0]}" for tree in trees if (its := differences(source, tree)))
    return Outcome(len(wanted), _length(records), lost, twice, astray, different)


def _length(records: list[Record]) -> int:
    """The bytes of all records, and of the blobs that they refer to, each counted once."""
    blobs, length = set[str](), 0
    for record in records:
        length += len(record.payload) + len(record.header_block)
        message = open_record(record, PackageMessage)
        referred = {*message.blobs, *filter(None, [message.content_ref])}
        if referred - blobs:
            length += message.total_bytes - (0 if message.content_ref else message.length)
        blobs |= referred
    return length


async def _all(log: Log) -> AsyncIterator[Record]:
    first, end = await log.bounds(TOPIC)
    async for record in between(log, TOPIC, first, end):
        yield record
