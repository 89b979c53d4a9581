"""The history of the pipeline demo's log: it is written, archived, trimmed, lost, and restored."""

import asyncio
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from callboard.actors.core.hooks import HookCall
from callboard.backends.log import Retention
from callboard.board.archive import archiving
from callboard.board.board import Callboard
from callboard.board.connect.settings import BoardSettings
from callboard.board.subscriber import Subscriber
from callboard.cli.demo.edits import Edits, Request
from callboard.errors import NotAllImported, RequestRefused

FIRST, SECOND = "first.db", "second.db"
"""The log that is lost, and the one that is restored; in the folder."""

WROTE = (("site", "ada"), ("docs", "grace"), ("site", "linus"))
"""Publisher and user of the edits, in turn."""

EVERYTHING = ("edge-1", "edge-2", "new-1", "new-2")
"""Who must have all content in the end: two from the start, one begun on a trimmed log, one on a restored log."""

PATIENCE_S = 240.0
"""For steps that take a second on an idle machine."""

TAIL = 6
"""One in this many edits comes after the log is trimmed, and as many after it is restored."""


class NoRoom(Exception):
    """Raised by the hook of ``preview``."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The board at a moment: the topics' ends, and each queue's position, packages and bytes."""

    package: int
    status: int
    discovery: int
    queues: dict[str, tuple[int, int, int]]


@dataclass(slots=True)
class Past:
    """What happened. The archive reaches to the end of the lost log."""

    packages: int = 0
    archived_packages: int = 0
    trimmed: int = 0
    restored_packages: int = 0
    from_archive: int = 0
    seen: list[Seen] = field(default_factory=list)
    whole: tuple[str, ...] = EVERYTHING
    refused: str = ""


class History:
    """One run in ``folder``; it changes ``source``."""

    def __init__(self, folder: Path, source: Path, edits: int, seed: int, tell: Callable[[str], None]) -> None:
        self._folder, self._source, self._tell = folder, source, tell
        self._edits, self._number = edits, 0
        self._requests = Edits(source, Random(seed)).make(edits)  # noqa: S311 - for variety, not for secrets
        self._archive = str(folder / "archive")
        self._past = Past(refused=max((path.name for path in source.iterdir() if path.is_dir()), default=""))

    async def run(self) -> Past:
        """Do the whole run. Raises the errors of the board and the archive."""
        await self._begin()
        await self._archive_it(FIRST)
        await self._trim_and_seed()
        await self._archive_it(FIRST)
        await self._lose_and_restore()
        await self._archive_it(SECOND)
        return self._past

    def _board(self, name: str, archive: str = "") -> Callboard:
        return Callboard(f"sqlite:///{self._folder / name}", blobs="./blobs", base=self._folder, archive=archive)

    def _settings(self, name: str) -> BoardSettings:
        return BoardSettings(f"sqlite:///{self._folder / name}", "./blobs", self._folder)

    async def _begin(self) -> None:
        """Start two subscribers that get everything, one that fails at a folder, and one that is stopped early."""
        self._tell("publishing a tree and edits to four subscribers")
        into, refused = self._folder, f"/{self._past.refused}/"

        def refuse(call: HookCall) -> None:
            if any(f"{path}/".startswith(refused) for path in call.paths):
                raise NoRoom(f"no room for {refused.rstrip('/')}")

        async with (
            self._board(FIRST) as board,
            board.subscriber("edge-1", into / "edge-1") as one,
            board.subscriber("edge-2", into / "edge-2", editable=True) as two,
            board.subscriber(
                "preview", into / "preview", max_retries=0, editable=True, before_import=refuse
            ) as failing,
        ):
            async with board.subscriber("field", into / "field") as off:
                trees = [Request("add", (f"/{path.name}",), deep=True) for path in sorted(self._source.iterdir())]
                await self._publish(board, [(tree,) for tree in trees])
                await self._publish(board, self._next(self._edits // 3))
                await self._caught_up(one, two, failing, off)
            await self._look(board)
            await self._publish(board, self._next(self._edits // 3))
            await self._caught_up(one, two, failing)
            await self._look(board)

    async def _trim_and_seed(self) -> None:
        into = self._folder
        async with self._board(FIRST, self._archive) as board:
            topic = board.settings.topics.package
            await board.log.trim(topic, Retention(below_offset=(await board.log.bounds(topic)).end))
            self._past.trimmed = self._past.archived_packages
            self._tell(f"the log no longer has its {self._past.trimmed} packages; new-1 reads the archive")
            async with (
                board.subscriber("new-1", into / "new-1") as new,
                board.subscriber("edge-1", into / "edge-1") as old,
            ):
                await self._caught_up(new)
                self._past.from_archive = (await new.report()).imported
                await self._publish(board, self._next(self._edits // TAIL))
                await self._caught_up(new, old)
                await self._look(board)

    async def _archive_it(self, name: str) -> None:
        report = await archiving.archive(
            self._settings(name), self._archive, accept_hole=False, tip=None, on_progress=lambda *_: None
        )
        if report.error is not None:
            raise report.error
        package = next(topic for topic in report.topics if topic.topic.endswith(".package"))
        self._past.archived_packages += package.rows
        self._tell(f"archived {sum(topic.rows for topic in report.topics)} records, {package.rows} of them packages")

    async def _lose_and_restore(self) -> None:
        into = self._folder
        shutil.rmtree(into / FIRST)
        self._tell("the log is gone for good; restoring it from the archive")
        done = await archiving.restore(
            self._settings(SECOND), self._archive, same_identity=True, on_progress=lambda *_: None
        )
        self._past.restored_packages = next(topic.rows for topic in done if topic.topic.endswith(".package"))
        self._tell("all continue on the restored log; new-2 starts at its beginning")
        async with (
            self._board(SECOND) as board,
            board.subscriber("edge-1", into / "edge-1") as one,
            board.subscriber("edge-2", into / "edge-2", editable=True) as two,
            board.subscriber("new-1", into / "new-1") as three,
            board.subscriber("new-2", into / "new-2") as new,
        ):
            await self._caught_up(new)
            await self._publish(board, self._requests)
            await self._caught_up(one, two, three, new)
            await self._look(board)

    def _next(self, number: int) -> Iterator[tuple[Request, ...]]:
        """The next ``number`` edits."""
        return islice(self._requests, number)

    async def _publish(self, board: Callboard, edits: Iterable[tuple[Request, ...]]) -> None:
        for edit in edits:
            publisher, user = WROTE[self._number % len(WROTE)]
            self._number += 1
            for request in edit:
                to = board.publisher(publisher)
                if request.kind == "delete":
                    package = await to.delete(request.paths, user=user)
                else:
                    package = await to.publish(self._source, request.paths, deep=request.deep, full=True, user=user)
                if package.state != "accepted":
                    raise RequestRefused(f"a package was {package.state}")
                self._past.packages += 1

    async def _caught_up(self, *subscribers: Subscriber) -> None:
        async def wait(subscriber: Subscriber) -> None:
            with suppress(NotAllImported):  # one of them is made to refuse packages
                await subscriber.caught_up(PATIENCE_S)

        await asyncio.gather(*(wait(each) for each in subscribers))

    async def _look(self, board: Callboard) -> None:
        """Record the queues, with the ends of the topics, which did not move meanwhile."""
        topics = board.settings.topics

        async def ends() -> list[int]:
            return [(await board.log.bounds(name)).end for name in (topics.package, topics.status, topics.discovery)]

        while True:
            before, queues = await ends(), {}
            for row in (await board.status()).subscribers:
                queue = await board.queue(row.name)
                queues[row.name] = (row.offset, queue.size, queue.length)
            if before == await ends():
                package, status, discovery = before
                self._past.seen.append(Seen(package, status, discovery, queues))
                return
