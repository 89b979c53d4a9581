"""Durable commands to entities, beside the library eventsourcing and bare appends of the same bytes, on the same logs.

Usage: ``python benchmarks/entities.py [--quick]``, 4 minutes. The library is in the dependency group ``bench``: ``pip
install --group bench``; without it, the rest is measured.

Commands a second: as many callers as entities, each waits for an answer before its next command. Bare appends are of
the record that such a command leaves, by as many callers, to a topic that nobody reads. At half of what 100 callers
reach, commands come at random moments, to 100 entities, and are timed from the moment that they were due.

All wait for the disk: PostgreSQL with its defaults, SQLite with ``synchronous=FULL``. An event has 200 characters. Its
record has 292 bytes and headers of 138, that of the library 293 bytes and a topic and an id of 58.
"""

import asyncio
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median, quantiles

from entity_stores import NOTE, Added, Boards, Notebook, Step, closed_loop
from report import Report, quick, rounds

from callboard.actors.entities.entity_table import EntityTable
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.testing.servers.postgres import postgres_server

CALLERS = (1, 10, 100, 1000)
HELD = 100
"""Entities of the open loop."""

ONE_GOAL, MANY_GOAL, BARE_GOAL = 1, 5, 0.5
IDLE = 10_000 if quick() else 100_000
RUN_S, OPEN_S = (0.5, 1.0) if quick() else (1.0, 4.0)
ROUNDS = 1 if quick() else 3


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and who is measured on it. The peer takes callers and seconds, and returns commands a second."""

    name: str
    boards: Boards
    peer: Callable[[int, float], float] | None


def places(stack: ExitStack) -> list[Place]:
    """SQLite files, and a PostgreSQL server of our own."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    server = stack.enter_context(postgres_server())
    for name in ("sqlite", "postgres"):
        (folder / name).mkdir()
    boards = Boards("sqlite:///./log", folder / "sqlite"), Boards(server.url, folder / "postgres")
    try:
        from entity_peer import on_postgres, on_sqlite
    except ImportError:
        print('not measured: eventsourcing; pip install "eventsourcing[postgres]"')
        return [Place("SQLite", boards[0], None), Place("PostgreSQL", boards[1], None)]
    return [
        Place("SQLite", boards[0], lambda callers, seconds: on_sqlite(folder).commands(callers, seconds)),
        Place("PostgreSQL", boards[1], lambda callers, seconds: on_postgres(server.url).commands(callers, seconds)),
    ]


def measure_commands(report: Report, place: Place, callers: int) -> float:
    """Commands a second of this number of callers; returns the median."""
    loop = partial(closed_loop, callers=callers, seconds=RUN_S)
    contestants: dict[str, Callable[[], float]] = {
        "ours": partial(place.boards.commands, loop),
        "bare": partial(place.boards.appends, loop),
    }
    if place.peer is not None:
        contestants["peer"] = partial(place.peer, callers, RUN_S)
    figures = rounds(ROUNDS, contestants, warm_up=not quick())
    question = f"{place.name}, {callers:,} at once"
    if place.peer is not None:
        goal = {1: ONE_GOAL, 100: MANY_GOAL}.get(callers)
        report.row(question, figures["ours"], figures["peer"], unit="commands/s", peer_name="eventsourcing", goal=goal)
    report.row(question, figures["ours"], figures["bare"], unit="commands/s", peer_name="append", goal=BARE_GOAL)
    for name, curve in (("ours", "callboard"), ("peer", "eventsourcing"), ("bare", "bare appends")):
        if name in figures:
            y = median(figures[name])
            report.point(f"{curve}, {place.name}", callers, y, x_name="callers", y_name="commands/s")
    return median(figures["ours"])


async def open_loop(step: Step, per_s: float) -> float:
    """The 99th percentile of milliseconds from the moment that a command is due until it is done."""
    await asyncio.gather(*map(step, range(HELD)))
    random, took_ms, number = Random(1), list[float](), 0
    due = begun = time.perf_counter()

    async def command(due: float, number: int) -> None:
        await step(number % HELD)
        took_ms.append((time.perf_counter() - due) * 1000)

    async with asyncio.TaskGroup() as commands:
        while (now := time.perf_counter()) < begun + OPEN_S:
            while due <= now:
                commands.create_task(command(due, number))
                due, number = due + random.expovariate(per_s), number + 1
            await asyncio.sleep(due - now)
    return quantiles(took_ms, n=100)[98]


def measure_latency(report: Report, place: Place, per_s: float) -> None:
    at_rate = partial(open_loop, per_s=per_s)
    figures = rounds(
        ROUNDS,
        {"ours": partial(place.boards.commands, at_rate), "bare": partial(place.boards.appends, at_rate)},
        warm_up=False,
    )
    report.row(f"{place.name}, 99% of {per_s:,.0f} commands/s", figures["ours"], figures["bare"], unit="ms",
               peer_name="append", note="less is better; half of what 100 callers reach")  # fmt: skip


def measure_memory(report: Report) -> None:
    """Bytes of an entity with one commit, as its keeper has it."""
    table, added = EntityTable(Notebook()), sealed(Added(text=NOTE))
    tracemalloc.start()
    for number in range(IDLE):
        its = {"key": f"notebook-{number}", "commit_id": (1 << 61) + number, "command_id": os.urandom(16).hex()}
        table.apply(EntityCommitMessage(**its, events=(added,)), number + 1)
    nbytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    note = f"{IDLE:,} of them; with the id of the last command, and its own state"
    report.row("memory of an idle entity", [nbytes / IDLE], unit="bytes", note=note)


def main() -> None:
    report = Report("entities")
    with ExitStack() as stack:
        for place in places(stack):
            per_s = {callers: measure_commands(report, place, callers) for callers in CALLERS}
            measure_latency(report, place, per_s[HELD] / 2)
    measure_memory(report)
    report.write()


if __name__ == "__main__":
    main()
