"""The logs, each with a harness that supports all that the log allows."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from callboard.backends.log import Log
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.postgres.server import Server
from callboard.testing.conformance.candidates import Candidate, New, chosen, without_server
from callboard.testing.conformance.candidates.memory_log import Around, Clock, Restart, itself, memory_log
from callboard.testing.conformance.log import LogHarness
from callboard.testing.servers.postgres import INSTALLATIONS, NAMED, own_schema, postgres_server


@contextmanager
def sqlite_log(around: Around = itself) -> Iterator[LogHarness]:
    """A harness for the log in SQLite files."""
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="callboard-sqlite-") as path:
        folder = Path(path)

        async def make() -> Log:
            return around(SqliteLog(folder, clock))

        async def gap(_: Log, topic: str, count: int) -> None:
            with sqlite3.connect(folder / f"{topic}.db") as db:
                db.execute("UPDATE sqlite_sequence SET seq = seq + ?", (count,))
            db.close()

        async def replace(_: Log, topic: str) -> None:
            _remove_all(folder, topic)

        url = f"sqlite:///{folder}"
        yield LogHarness(open=make, gap=gap, pass_time=clock.pass_time, url=url, replace=replace)


def _remove_all(folder: Path, topic: str) -> None:
    for file in folder.glob(f"{topic}.*"):
        file.unlink()


@contextmanager
def postgres_log(server_url: str, restart: Restart = None, around: Around = itself) -> Iterator[LogHarness]:
    """A harness for a log in a private schema of a database."""
    clock = Clock()
    with own_schema(server_url) as url:

        async def make() -> Log:
            return around(PostgresLog(url, clock))

        async def gap(_: Log, topic: str, count: int) -> None:
            db = await Server.of(url).connect()
            number = await db.fetchval("SELECT id FROM topics WHERE name = $1", topic)
            await db.execute(f"SELECT nextval('offsets_{number}') FROM generate_series(1, {count})")  # noqa: S608 - numbers
            await db.close()

        async def replace(_: Log, topic: str) -> None:
            db = await Server.of(url).connect()
            await db.execute("SELECT drop_topic($1)", topic)
            await db.execute("SELECT ensure_topic($1)", topic)
            await db.close()

        yield LogHarness(open=make, gap=gap, pass_time=clock.pass_time, url=url, restart=restart, replace=replace)


def postgres_candidate(version: int) -> Candidate[LogHarness]:
    """The log on a private server."""

    @contextmanager
    def start() -> Iterator[New[LogHarness]]:
        with postgres_server(version) as server:

            async def restart() -> None:
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)

            yield partial(postgres_log, server.url, restart)

    return Candidate(f"postgres-{version}", start)


def kafka_candidate() -> Candidate[LogHarness]:
    """The log on a real broker."""

    @contextmanager
    def start() -> Iterator[New[LogHarness]]:
        from callboard.testing.conformance.candidates.kafka import kafka_log
        from callboard.testing.servers.kafka import SERVERS, local_kafka

        if servers := os.environ.get(SERVERS, ""):
            yield partial(kafka_log, servers)
            return
        # The brokers run in a thread that outlives the checks, and end with it, so that none is left behind.
        with ThreadPoolExecutor(max_workers=1) as thread, local_kafka() as cluster:

            def restart_now() -> None:
                (node,) = cluster.nodes()
                cluster.kill(node)
                cluster.start()

            async def restart() -> None:
                await asyncio.get_running_loop().run_in_executor(thread, restart_now)

            yield partial(kafka_log, cluster.bootstrap, restart)

    return Candidate("kafka", start)


def kafka_mock_candidate() -> Candidate[LogHarness]:
    """The log on librdkafka's mock of a broker."""

    @contextmanager
    def start() -> Iterator[New[LogHarness]]:
        from callboard.testing.conformance.candidates.kafka import kafka_mock_log
        from callboard.testing.servers.kafka import mock_kafka

        with mock_kafka() as servers:
            yield partial(kafka_mock_log, servers)

    return Candidate("kafka-mock", start)


def own_logs(only: Sequence[str] = ()) -> list[Candidate[LogHarness]]:
    """Every log of callboard, or those with these names."""
    named = os.environ.get(NAMED, "")
    every = [
        without_server("memory", memory_log),
        without_server("sqlite", sqlite_log),
        *(postgres_candidate(version) for version in INSTALLATIONS),
        *([without_server("postgres-named", partial(postgres_log, named))] if named else []),
        kafka_candidate(),
        kafka_mock_candidate(),
    ]
    return chosen(every, only, postgres_candidate)
