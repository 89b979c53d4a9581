"""The environment of a run: its own log, with a server that can be struck and a network that can fail."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from callboard.errors import RequestRefused

if TYPE_CHECKING:
    from callboard.testing.servers.network import Network

REQUEST_TIMEOUT_MS = 3000
"""For Kafka's clients, so that they give up a silent broker within a run."""


class On(StrEnum):
    """The logs that a run can use."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"
    KAFKA = "kafka"


@dataclass(frozen=True, slots=True)
class Server:
    """The log's server, and how to strike it; the functions block."""

    kill: Callable[[], None]
    start: Callable[[], None]
    signal: Callable[[signal.Signals], None]


@dataclass(frozen=True, slots=True)
class Place:
    """``url`` leads agents through the network, ``direct`` bypasses it. SQLite has neither server nor network."""

    url: str
    direct: str
    server: Server | None = None
    network: "Network | None" = None


@asynccontextmanager
async def opened(on: On) -> AsyncIterator[Place]:
    """A place of this kind, with its server if it needs one. Raises ``RequestRefused`` if that is not available."""
    if on is On.SQLITE:
        yield Place("sqlite:///./board.db", "sqlite:///./board.db")
        return
    from callboard.testing.servers.network import network

    async with network() as between, _started(_postgres if on is On.POSTGRES else _kafka, between) as place:
        yield place


@asynccontextmanager
async def _started(
    kind: "Callable[[Network], AbstractContextManager[Place]]", between: "Network"
) -> AsyncIterator[Place]:
    """The server, started and stopped in a thread, since the loop relays to it."""
    server = kind(between)
    try:
        place = await asyncio.to_thread(server.__enter__)
    except RuntimeError as error:
        raise RequestRefused(str(error)) from error
    try:
        yield place
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


@contextmanager
def _postgres(between: "Network") -> Iterator[Place]:
    from callboard.testing.servers.postgres import postgres_server

    with postgres_server() as server:
        between.target = server.port
        through = server.tcp_url.replace(f":{server.port}/", f":{between.port}/")

        def send(number: signal.Signals) -> None:
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            for process in (server.pid, *map(int, children)):
                os.kill(process, number)

        yield Place(through, server.url, Server(server.kill, server.start, send), between)


@contextmanager
def _kafka(between: "Network") -> Iterator[Place]:
    from callboard.testing.servers.kafka import KafkaMissing, local_kafka

    try:
        with local_kafka(relay_port=between.port) as broker:
            between.target = broker.relayed_port
            options = f"?request_timeout_ms={REQUEST_TIMEOUT_MS}"
            server = Server(lambda: broker.kill(1), broker.start, lambda number: broker.signal(1, number))
            direct = f"kafka://{broker.bootstrap}/{options}"
            yield Place(f"kafka://127.0.0.1:{between.port}/{options}", direct, server, between)
    except KafkaMissing as error:
        raise RequestRefused(str(error)) from error
