"""The peer of entities.py: the library eventsourcing, in its usual arrangement."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

from entity_stores import NOTE
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event


class Notebook(Aggregate):
    """Counts its notes."""

    def __init__(self) -> None:
        self.notes = 0

    @event("Added")
    def add(self, text: str) -> None:
        """Add a note."""
        del text
        self.notes += 1


class Peer:
    """An application, aggregates, and a thread for each caller.

    Aggregates are cached and not read again before a command, as is safe in one process. Its SQLite module writes ahead
    and leaves ``synchronous`` at SQLite's default, which is FULL, as it is for callboard's log.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = {"AGGREGATE_CACHE_MAXSIZE": "2000", "AGGREGATE_CACHE_FASTFORWARD": "n", **environment}

    def commands(self, callers: int, seconds: float) -> float:
        """Commands a second."""
        ready = Barrier(callers)
        with closing(Application[UUID](env=self.environment)) as application:

            def caller(_: int) -> tuple[int, float, float]:
                application.save(notebook := Notebook())
                ready.wait()
                begun, done = time.perf_counter(), 0
                while time.perf_counter() < begun + seconds:
                    notebook = application.repository.get(notebook.id)
                    notebook.add(NOTE)
                    application.save(notebook)
                    done += 1
                return done, begun, time.perf_counter()

            with ThreadPoolExecutor(callers) as threads:
                done, begun, ended = zip(*threads.map(caller, range(callers)), strict=True)
            return sum(done) / (max(ended) - min(begun))


def on_sqlite(folder: Path) -> Peer:
    """On a new file in this folder."""
    return Peer({"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": f"{folder}/{uuid4()}.db"})


def on_postgres(url: str) -> Peer:
    """On the server at this URL, which names the folder of its socket, with the library's pool of connections."""
    parts = urlsplit(url)
    (host,), (port,) = (parse_qs(parts.query)[name] for name in ("host", "port"))
    return Peer(
        {"PERSISTENCE_MODULE": "eventsourcing.postgres", "POSTGRES_DBNAME": parts.path.strip("/"),
         "POSTGRES_HOST": host, "POSTGRES_PORT": port, "POSTGRES_USER": parts.username or "", "POSTGRES_PASSWORD": ""}
    )  # fmt: skip
