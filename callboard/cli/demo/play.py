"""The plot of the demo."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

from callboard.backends.repositories import open_repository
from callboard.backends.repositories.paths import link_leaves_root
from callboard.backends.repository import EntryKind
from callboard.board.board import Callboard
from callboard.cli.demo import account, tree
from callboard.cli.demo.child import Child
from callboard.cli.demo.edits import INCIDENTS, Edits, Request
from callboard.cli.demo.fleet import Fleet
from callboard.cli.demo.incidents import Incidents
from callboard.cli.demo.progress import Progress

FIRST = (("edge-1", False, 0), ("edge-2", True, 0), ("edge-3", False, 5), ("edge-4", True, 10), ("edge-5", False, 15))
"""Name, SQLite or folder, and niceness: subscribers differ in speed."""
LATE = ("edge-6", True, 0)
START_S, CATCH_UP_S, RECOVER_S = 180.0, 240.0, 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended."""

    identical: int
    subscribers: int
    account: account.Count
    kills: int
    differences: tuple[str, ...]
    story: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether everything is as it should be."""
        return self.identical == self.subscribers and not self.account.lost and not self.account.twice

    def summary(self) -> str:
        """What happened besides the kills, and its effect on packages."""
        figures = (
            f"{self.account.replaced} imports left out because a later package replaced them, "
            f"{self.account.left_out_by_command} by command"
        )
        return "incidents: " + "; ".join((*self.story, figures))

    def __str__(self) -> str:
        return (
            f"demo: {self.identical} of {self.subscribers} subscribers identical to the source, "
            f"{self.account.packages} packages, {self.account.lost} lost, {self.account.twice} applied twice, "
            f"{self.kills} kills survived"
        )


class Play:
    """One run of the demo in ``folder``, which holds everything it makes; ``source`` may be changed."""

    def __init__(
        self, board: Callboard, fleet: Fleet, folder: Path, source: Path, edits: int, seed: int, progress: Progress
    ) -> None:
        self._board = board
        self._fleet = fleet
        self._folder = folder
        self._source = source
        self._edits = edits
        self._rng = Random(seed)  # noqa: S311 - for variety, not for secrets
        self._progress = progress
        self._incidents = Incidents(board, fleet, source, progress)
        self._kills = 0

    async def run(self) -> Outcome:
        """Do everything, from the first process to the final comparison."""
        self._progress.doing = "starting one publisher and five subscribers"
        self._fleet.publisher.start()
        for name, sqlite, nice in FIRST:
            self._fleet.add(name, sqlite=sqlite, nice=nice)
        await self._fleet.until(self._all_live, START_S, "all subscribers to be live")
        await self._publish_tree()
        going_wrong = asyncio.create_task(self._incidents.run())
        try:
            await self._publish_edits()
            self._progress.doing = "waiting until everything that went wrong is put right"
            await going_wrong
        finally:
            going_wrong.cancel()
        self._progress.doing = "waiting until all six have caught up"
        end = (await self._board.log.bounds(self._board.settings.topics.package)).end
        await self._fleet.until(lambda: self._all_at(end - 1), CATCH_UP_S, "all subscribers to catch up")
        self._progress.doing = "stopping everything"
        await asyncio.to_thread(self._fleet.stop)
        self._progress.doing = "comparing every byte with the source"
        return await self._compare()

    async def _publish_tree(self) -> None:
        self._progress.doing = f"publishing the tree of {self._source.name}"
        (self._source / INCIDENTS).mkdir()
        whole = [Request("add", (f"/{path.name}",), deep=True) for path in sorted(self._source.iterdir())]
        half = len(whole) // 2
        await self._fleet.publish(whole[:half])
        await self._kill("importer", self._fleet.subscribers["edge-2"])
        await self._fleet.publish(whole[half:])
        await self._kill("queue_cache", self._fleet.publisher)

    async def _publish_edits(self) -> None:
        self._progress.doing = f"publishing {self._edits} edits"
        for number, requests in enumerate(Edits(self._source, self._rng).make(self._edits), 1):
            await self._fleet.publish(requests)
            if number == self._edits // 3:
                await self._kill_subscriber("edge-3")
            if number == self._edits * 2 // 3:
                name, sqlite, nice = LATE
                self._progress.tell(f"{name} joins late")
                self._fleet.add(name, sqlite=sqlite, nice=nice)

    async def _kill(self, role: str, child: Child) -> None:
        before = child.incarnation(role)
        await self._fleet.until(lambda: child.kill_actor(role), RECOVER_S, f"{role} of {child.name} to be up")
        self._progress.tell(f"kill -9 of the {role} of {child.name}")
        await self._fleet.until(lambda: child.incarnation(role) > before, RECOVER_S, f"a new {role} of {child.name}")
        self._progress.tell(f"{child.name} has a new {role}")
        self._kills += 1

    async def _kill_subscriber(self, name: str) -> None:
        child = self._fleet.subscribers[name]
        before = child.incarnation("importer")
        child.kill()
        self._progress.tell(f"kill -9 of the whole subscriber {name}")
        child.start()
        await self._fleet.until(lambda: child.incarnation("importer") > before, RECOVER_S, f"{name} to be back")
        self._progress.tell(f"{name} is back")
        self._kills += 1

    def _all_live(self) -> bool:
        live = [row for row in self._progress.status.subscribers if row.liveness == "live" and row.state == "idle"]
        return len(live) == len(FIRST)

    def _all_at(self, offset: int) -> bool:
        rows = (self._progress.row(name) for name in self._fleet.subscribers)
        return all(row is not None and row.offset >= offset for row in rows)

    # The end.

    async def _compare(self) -> Outcome:
        found: list[str] = []
        identical = 0
        for name in self._fleet.subscribers:
            target = await asyncio.to_thread(self._plain_folder, name)
            wrong = await asyncio.to_thread(tree.differences, self._source, target)
            identical += not wrong
            found += [f"{name}: {what}" for what in wrong]
        counted = await account.count(self._board, list(self._fleet.subscribers))
        kills = self._kills + self._incidents.kills
        fleet = len(self._fleet.subscribers)
        return Outcome(identical, fleet, counted, kills, tuple(found), tuple(self._incidents.story))

    def _plain_folder(self, name: str) -> Path:
        """The subscriber's content as plain files: its folder, or its SQLite file unpacked."""
        database = self._folder / f"{name}.sqlite"
        target = self._folder / name
        if not database.exists():
            return target
        target.mkdir()
        folders = []
        for entry in open_repository(f"sqlite:{database}", self._folder).entries("/", deep=True):
            path = target / entry.path.lstrip("/")
            if entry.kind is EntryKind.LINK:
                path.symlink_to(entry.target)
                continue
            if entry.kind is EntryKind.FOLDER:
                path.mkdir(exist_ok=True)
                folders.append((path, entry.mode))
                continue
            with path.open("wb") as file:
                file.writelines(entry.open())
            path.chmod(entry.mode)
        for path, mode in reversed(folders):
            path.chmod(mode)
        return target


def copy_source(source: Path, target: Path) -> None:
    """Make a copy that the demo may change, without caches, installed packages, and links that may lead out of it."""
    unwanted = shutil.ignore_patterns("site-packages", "__pycache__", "*.pyc")

    def left_out(folder: str, names: list[str]) -> set[str]:
        links = {name: path for name in names if (path := Path(folder, name)).is_symlink()}
        return unwanted(folder, names) | {
            name for name, path in links.items()
            if link_leaves_root(f"/{path.relative_to(source).as_posix()}", str(path.readlink()))
        }  # fmt: skip

    shutil.copytree(source, target, symlinks=True, ignore=left_out)
