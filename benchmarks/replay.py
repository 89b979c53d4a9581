"""How fast are entities and a table made of a million events, and how soon does the first command after a restart end?

Usage: ``python benchmarks/replay.py [--quick]``, 5 minutes. A topic on SQLite has a million commits to as many
notebooks as there are commits, or a hundredth of that. They are read without anything else (the bare reading), folded
into entities in memory, into entities with snapshots, and into the table of a projection. The library eventsourcing
reads its own events on SQLite, and makes a dictionary of aggregates of them, or the rows of a table in SQLite, by its
own classes; the rate is that of fewer events, as it does not depend on their number.

After that, a service with snapshots is started again: the time is from opening the board until a command is durable.
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from entity_stores import NOTE, Add, Added, Notebook
from report import Report, quick, rounds

from callboard import Callboard
from callboard.actors import Event, Projection, Recorded, event
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.messages.headers import new_record

EVENTS = 100_000 if quick() else 1_000_000
PEER_EVENTS = 2_000 if quick() else 20_000
TOPIC = "callboard.entity.notes.notebook"
BATCH, READ = 1000, 2000
BARE_GOAL, PEER_GOAL, RESTART_GOAL_S = 0.3, 5, 1.0
PATIENCE_S = 3600.0


@event("notes.count", version=1)
class Count(Event):
    """A row: the notes of a notebook."""

    notes: int = 0


class Counts(Projection[Count]):
    """How many notes each notebook has."""

    sources = (Notebook,)

    def evolve(self, key: str, row: Count | None, recorded: Recorded) -> Count:
        """See ``Projection``."""
        del key, recorded
        return Count(notes=(row.notes if row else 0) + 1)


async def fill(board: Callboard, notebooks: int) -> None:
    """Append the commits, as keepers do."""
    await board.log.ensure(TOPIC)
    added = sealed(Added(text=NOTE[:20]))
    for begin in range(0, EVENTS, BATCH):
        records = []
        for number in range(begin, begin + BATCH):
            version, key = divmod(number, notebooks)
            commit = EntityCommitMessage(
                key=f"notebook-{key}", commit_id=number + 1, previous=number + 1 - notebooks if version else 0,
                version=version, command_id=os.urandom(16).hex(), events=(added,),
            )  # fmt: skip
            made = {"record_id": f"host/{number:016x}", "time_ns": 10**18 + number, "producer": "host"}
            records.append(new_record(commit, cause=commit.command_id, **made))
        await board.log.append(TOPIC, records)


class Place:
    """A board in a folder, and what is measured on it. Each figure is in events a second."""

    def __init__(self, folder: Path, notebooks: int) -> None:
        self.folder, self.notebooks = folder, notebooks
        self._on(partial(fill, notebooks=notebooks))

    def _on(self, use: Callable[[Callboard], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            async with Callboard("sqlite:///./board", base=self.folder) as board:
                return await use(board)

        return asyncio.run(run())

    def _per_s(self, use: Callable[[Callboard], Awaitable[Any]]) -> float:
        begun = time.perf_counter()
        self._on(use)
        return EVENTS / (time.perf_counter() - begun)

    def bare(self) -> float:
        """The bare reading."""

        async def read(board: Callboard) -> None:
            at, _ = await board.log.bounds(TOPIC)
            while records := await board.log.read(TOPIC, at, READ):
                at = records[-1].offset + 1

        return self._per_s(read)

    def in_memory(self) -> float:
        """Into entities in memory."""
        return self._per_s(lambda board: board.entities(Notebook).get("notebook-0", timeout_s=PATIENCE_S))

    def with_snapshots(self) -> float:
        """Into entities with snapshots."""
        self._remove("snapshots.db")
        return self._per_s(self._first)

    def into_a_table(self) -> float:
        """Into the table of a projection."""
        self._remove("counts.db")

        async def project(board: Callboard) -> None:
            end = (await board.log.bounds(TOPIC)).end
            counts = board.projection(Counts, into="sqlite:counts.db")
            await counts.reached(end - 1, of=Notebook, timeout_s=PATIENCE_S)

        return self._per_s(project)

    def restart_s(self) -> float:
        """Seconds until the first command is durable; there are snapshots already."""
        begun = time.perf_counter()

        async def command(board: Callboard) -> float:
            notebooks = board.entities(Notebook, snapshots="sqlite:snapshots.db")
            await notebooks.send("notebook-7", Add(text=NOTE))
            return time.perf_counter() - begun

        return float(self._on(command))

    async def _first(self, board: Callboard) -> None:
        notebooks = board.entities(Notebook, snapshots="sqlite:snapshots.db")
        await notebooks.get("notebook-0", timeout_s=PATIENCE_S)

    def _remove(self, name: str) -> None:
        for file in self.folder.glob(f"{name}*"):
            file.unlink()


class Peer:
    """The library, with its own events."""

    def __init__(self, folder: Path) -> None:
        from entity_peer import on_sqlite
        from eventsourcing.application import Application

        self._folder = folder
        self._application = Application[Any](env=on_sqlite(folder).environment)
        from entity_peer import Notebook as Aggregate

        for _ in range(PEER_EVENTS // 2):  # each is created, and has one note: two events
            notebook = Aggregate()
            notebook.add(NOTE[:20])
            self._application.save(notebook)

    def _events(self) -> Any:
        recorder, mapper = self._application.recorder, self._application.mapper
        at = 1
        while found := recorder.select_notifications(at, READ):
            yield from (mapper.to_domain_event(each) for each in found)
            at = found[-1].id + 1

    def in_memory(self) -> float:
        """Aggregates by their ids."""
        begun, aggregates = time.perf_counter(), dict[Any, Any]()
        for each in self._events():
            aggregates[each.originator_id] = each.mutate(aggregates.get(each.originator_id))
        return PEER_EVENTS / (time.perf_counter() - begun)

    def into_a_table(self) -> float:
        """Rows and the place in one transaction for each batch, which is faster than the library's own projections."""
        (self._folder / "peer.db").unlink(missing_ok=True)
        database = sqlite3.connect(self._folder / "peer.db", isolation_level=None)
        database.execute("CREATE TABLE counts (key TEXT PRIMARY KEY, notes INTEGER)")
        begun = time.perf_counter()
        database.execute("BEGIN")
        for number, each in enumerate(self._events(), 1):
            if number % READ == 0:
                database.execute("COMMIT")
                database.execute("BEGIN")
            adds = "INSERT INTO counts VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET notes = notes + 1"
            database.execute(adds, (str(each.originator_id),))
        database.execute("COMMIT")
        database.close()
        return PEER_EVENTS / (time.perf_counter() - begun)


def measure(report: Report, place: Place, peer: Peer | None) -> None:
    contestants: dict[str, Callable[[], float]] = {
        "bare": place.bare, "memory": place.in_memory, "snapshots": place.with_snapshots, "table": place.into_a_table,
    }  # fmt: skip
    if peer is not None:
        contestants |= {"peer": peer.in_memory, "peer's table": peer.into_a_table}
    figures = rounds(1 if quick() else 2, contestants, warm_up=False)
    names = {
        "memory": "entities in memory",
        "snapshots": "entities with snapshots",
        "table": "the table of a projection",
    }
    for name, what in names.items():
        question = f"{EVENTS:,} events of {place.notebooks:,} into {what}"
        report.row(question, figures[name], figures["bare"], unit="events/s", peer_name="bare reading", goal=BARE_GOAL)
        if peer is not None:
            theirs = figures["peer's table" if name == "table" else "peer"]
            report.row(question, figures[name], theirs, unit="events/s", peer_name="eventsourcing", goal=PEER_GOAL)


def main() -> None:
    report = Report("replay")
    for notebooks in (EVENTS, EVENTS // 100):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            place = Place(folder, notebooks)
            try:
                peer = Peer(folder)
            except ImportError:
                print('not measured: eventsourcing; pip install "eventsourcing[postgres]"')
                peer = None
            measure(report, place, peer)
            seconds = [place.restart_s() for _ in range(1 if quick() else 5)]
            note = f"less is better; the goal is {RESTART_GOAL_S:g} s"
            report.row(f"first command with {notebooks:,} entities", seconds, unit="s", note=note)
    report.write()


if __name__ == "__main__":
    main()
