"""Records that only the log's archive still has."""

from collections.abc import AsyncIterator
from pathlib import Path

from callboard.backends.address import shown
from callboard.backends.log import Log
from callboard.content.collection import Archived
from callboard.errors import ArchiveDamaged, ArchiveHole, LogReplaced
from callboard.messages.record import Record


def archived_records(place: str, base: Path, log: Log, package: str) -> Archived:
    """Read the archive at ``place``, a folder below ``base`` or ``s3://BUCKET/PREFIX``.

    Args:
        place: of the archive.
        base: the folder that relative paths start from.
        log: whose archive it is.
        package: the topic that every archive of this log has.
    """

    async def below(topic: str, stop: int) -> AsyncIterator[Record]:
        """Raises ``ArchiveHole``, ``ArchiveDamaged``, and ``LogReplaced`` if it is another log's archive."""
        from callboard.archive.reader import ArchiveReader, records_in

        async with ArchiveReader(place, base) as reader:
            found = await reader.topic(topic)
            if found is None:
                if topic == package:
                    raise ArchiveDamaged(
                        f"the archive {shown(place)} has nothing of topic {topic!r}, so what that needs is "
                        "unknown; run `callboard archive run`, or correct archive.place"
                    )
                return  # nothing was ever reported
            if found.tip.log_id != await log.identity(topic):
                raise LogReplaced(
                    f"the archive {shown(place)} is not that of topic {topic!r}; run `callboard archive run`, or "
                    "correct archive.place"
                )
            if found.holes or found.next < stop:
                hole = (found.holes[0].first, found.holes[0].next) if found.holes else (found.next, stop)
                raise ArchiveHole(
                    f"the archive of topic {topic!r} has a hole from {hole[0]} up to {hole[1]}, so what its records "
                    "need is unknown; once no replay needs it, unset archive.place, or name another archive"
                )
            async for batch in reader.batches(topic, found.first, max(min(stop, found.next), found.first), found):
                for record in records_in(batch):
                    yield record

    return below
