"""Follows the log during a run: when each package came, and when each subscriber had imported it."""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable

from callboard.board.board import Callboard
from callboard.errors import CallboardError
from callboard.messages.distribution.topic_messages import CommandResultMessage, PackageStatusMessage, Status
from callboard.messages.headers import open_record
from callboard.messages.record import Record

WAIT_S = 1.0
PAUSE_S = 0.2
"""Between two tries of a server that does not answer, and two checks for a recovery."""
DONE = (Status.IMPORTED, Status.SUPERSEDED)


class Watcher:
    """The content of the log, almost live. It is read around the failing network."""

    def __init__(self, board: Callboard) -> None:
        self._board = board
        self._packages: list[tuple[int, int]] = []  # (time_ns, offset), both ascending
        self._done: dict[str, list[tuple[int, int]]] = defaultdict(list)  # (offset, time_ns)
        self._imports: dict[str, set[int]] = defaultdict(set)

    async def run(self) -> None:
        """Follow both topics until cancelled."""
        topics = self._board.settings.topics
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(topics.package, self._package))
            group.create_task(self._follow(topics.status, self._status))

    @property
    def packages(self) -> int:
        """The number of packages so far."""
        return len(self._packages)

    def imports(self, subscriber: str) -> int:
        """The number of imports that the subscriber reported."""
        return len(self._imports[subscriber])

    def published_ns(self, since_ns: int) -> int:
        """When the first package after this moment came; 0 if none has."""
        index = bisect_right(self._packages, (since_ns, 1 << 62))
        return self._packages[index][0] if index < len(self._packages) else 0

    def imported_ns(self, subscriber: str, since_ns: int) -> int:
        """When the subscriber imported a package that came after this moment; 0 if it has not."""
        index = bisect_right(self._packages, (since_ns, 1 << 62))
        if index == len(self._packages):
            return 0
        first = self._packages[index][1]
        return min((time_ns for offset, time_ns in self._done[subscriber] if offset >= first), default=0)

    async def _follow(self, topic: str, take: Callable[[Record], None]) -> None:
        start, _ = await self._board.log.bounds(topic)  # no strikes yet
        while True:
            try:
                await self._board.log.wait(topic, start, WAIT_S)
                records = await self._board.log.read(topic, start)
            except CallboardError:  # its server was struck
                await asyncio.sleep(PAUSE_S)
                continue
            for record in records:
                take(record)
                start = record.offset + 1

    def _package(self, record: Record) -> None:
        self._packages.append((record.time_ns, record.offset))

    def _status(self, record: Record) -> None:
        said = open_record(record, (PackageStatusMessage, CommandResultMessage))
        if isinstance(said, PackageStatusMessage) and said.status in DONE:
            self._done[said.subscriber].append((said.offset, record.time_ns))
            if said.status is Status.IMPORTED:
                self._imports[said.subscriber].add(said.sequence)
