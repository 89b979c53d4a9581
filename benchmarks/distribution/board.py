"""callboard: a publisher and subscribers on a log in SQLite, embedded in three processes as in ``fleet.py``."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from distribution.distributor import Distributor
from distribution.tree import Tree
from fleet import Load, started, told

from callboard.sync import Callboard

DEADLINE_S = 3600.0
POLL_S = 0.02


@contextmanager
def board(folder: Path, files: int, targets: int, into_folders: bool) -> Iterator[dict[str, Distributor]]:
    tree, where = Tree(folder / "tree", files), "folders" if into_folders else "SQLite"
    copies = [folder / (f"edge-{number}" if into_folders else f"edge-{number}.db") for number in range(targets)]
    with Callboard(f"sqlite:///{folder / 'log'}", blobs=str(folder / "blobs")) as published:
        halves = started(folder, Load(targets, 0, into_folders=into_folders))
        publisher = published.publisher("site")
        publisher.start()

        def ship(paths: list[str]) -> float:
            package = publisher.publish(tree.root, paths)
            landed, deadline = list[int](), time.monotonic() + DEADLINE_S
            while len(landed) < targets:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"only {len(landed)} of {targets} subscribers have {package.id}")
                time.sleep(POLL_S)
                for half in asyncio.run(told(halves)):
                    landed += [at for first, last, at in half.landed if first <= package.offset <= last]
            return max(landed) / 1e9

        everything = partial(ship, ["/"])
        found = {
            f"callboard, {where}": Distributor(tree, copies, lambda path: ship([f"/{path}"]), everything),
            f"callboard, {where}, whole tree": Distributor(tree, copies, lambda _: everything()),
        }
        try:
            yield found
        finally:
            for process, pipe in halves:
                pipe.send(False)
                process.join()
