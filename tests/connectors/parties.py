"""Members of clusters with real connectors, on ports that the system chooses, and a relay between them."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import wraps
from typing import Any

import httpx

from callboard.actors.topology.announcements.connector import Timing
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.connectors import ConnectorKey, Connectors, ConnectorSettings
from callboard.connectors.identity import Identity
from callboard.messages.topology.cluster_state import Health
from callboard.messages.topology.connector_messages import Announcement

OLD, NEW = ConnectorKey("old", bytes(range(32))), ConnectorKey("new", bytes(32))
OTHER = ConnectorKey("old", b"x" * 32)
"""Another secret under the same name."""

PATH = "/callboard/topology"
QUICK = Timing(interval_ms=100, timeout_ms=2_000, stable_factor=3)
PATIENT = Timing(interval_ms=100, timeout_ms=30_000, stable_factor=3)
"""Exchanges as often, with announcements that do not expire within a test, however slow it is."""

SLOW = Timing(interval_ms=60_000, timeout_ms=120_000, stable_factor=3)
"""Exchanges that nothing but a change can cause within a test."""

DEADLINE_S = 20.0


def run(test: Callable[..., Any]) -> Callable[..., None]:
    """Have the coroutine of a test run in an event loop of its own."""

    @wraps(test)
    def ran(*args: Any, **given: Any) -> None:
        asyncio.run(test(*args, **given))

    return ran


async def eventually(true: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not true():  # noqa: ASYNC110 - it may be anything that is true in the end
            await asyncio.sleep(0.01)


class Cluster:
    """A cluster and its view; members see the same one at the same time."""

    def __init__(self, name: str, members: list[str]) -> None:
        self.name, self.members, self.epoch, self.note = name, members, 1, 0

    def view(self, me: str) -> ClusterView:
        return ClusterView(
            cluster_id=self.name, log_id=f"log-{self.name}", epoch=self.epoch, leader_epoch=1, settled=True,
            degraded=False, frozen=False, instances=tuple(self.instance(each, me) for each in self.members),
        )  # fmt: skip

    def instance(self, name: str, me: str) -> Instance:
        return Instance(
            instance=name, incarnation="1", is_leader=name == self.members[0], is_local=name == me, join_offset=1,
            priority=0, tags=frozenset(), properties={"note": str(self.note)}, draining=False, suspected_by=(),
            silent_ms=0, health=Health.GOOD, load_permille=0,
        )  # fmt: skip


class Party:
    """A member of the cluster ``name``, with one connector for each URL."""

    def __init__(self, name: str, *urls: str | tuple[str, ...], listens: bool = True, **settings: Any) -> None:
        self.name = f"{name}-0"
        self.cluster = Cluster(name, [self.name, f"{name}-other"])
        self.in_cluster, self.changes, self.clock_ahead_s = True, 0, 0
        self.settings = ConnectorSettings(
            urls=tuple((each,) if isinstance(each, str) else each for each in urls),
            listen="127.0.0.1:0" if listens else "",
            **{"keys": (OLD,), "timing": QUICK} | settings,
        )
        self.connectors = self.another()

    def another(self) -> Connectors:
        return Connectors(
            self.settings, instance=self.name, local=self.local, changed=self.count,
            clock=lambda: time.time_ns() + self.clock_ahead_s * 10**9,
        )  # fmt: skip

    def local(self) -> ClusterView | None:
        return self.cluster.view(self.name) if self.in_cluster else None

    def count(self) -> None:
        self.changes += 1

    async def __aenter__(self) -> "Party":
        await self.connectors.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connectors.__aexit__(None, None, None)

    async def restart(self) -> None:
        """End without notifying the neighbours, and start again on the same port."""
        port = self.connectors.port
        self.connectors._connectors = []
        await self.connectors.__aexit__(None, None, None)
        self.settings = replace(self.settings, listen=f"127.0.0.1:{port}")
        self.connectors = self.another()
        await self.connectors.__aenter__()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.connectors.port}{PATH}"

    @property
    def knows(self) -> dict[str, str]:
        """The note that each known cluster has as a property."""
        return {each.cluster_id: each.instances[0].properties.get("note", "") for each in self.connectors.remote()}

    def change(self) -> None:
        self.cluster.note += 1
        self.connectors.local_changed()

    @property
    def problem(self) -> str:
        return self.connectors.links()[0].problem


class Stranger:
    """Sends requests of its own making."""

    def __init__(
        self, name: str = "evil-0", key: ConnectorKey | None = OLD, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.key, self.identity = key, Identity(name, [key] if key else [], clock, os.urandom)

    async def status(self, party: Party, body: bytes, method: str = "PUT", **given: Any) -> int:
        return (await self.send(party.url, body, method, **given)).status_code

    async def send(self, url: str, body: bytes, method: str = "PUT", **given: Any) -> httpx.Response:
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.request(method, url, content=body, **given)

    def sealed(self, party: Party, announcement: Announcement, method: str = "PUT", path: str = PATH) -> bytes:
        return self.identity.ask(self.key, method, path, party.connectors._identity.address, announcement).body


class Relay:
    """Passes bytes on between a client and a port, and keeps them."""

    def __init__(self, to_port: int) -> None:
        self.to_port, self.port = to_port, 0
        self.connections: list[tuple[bytearray, bytearray]] = []
        self.writers: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.to_port)
        self.writers += [writer, to_writer]
        sent, got = bytearray(), bytearray()
        self.connections.append((sent, got))
        await asyncio.gather(self.pipe(reader, to_writer, sent), self.pipe(to_reader, writer, got))

    async def pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                kept += data
                writer.write(data)
                await writer.drain()
        writer.close()

    @property
    def sent(self) -> bytes:
        return b"".join(sent for sent, _ in self.connections)

    @property
    def got(self) -> bytes:
        return b"".join(got for _, got in self.connections)

    def bodies(self) -> list[bytes]:
        """The requests' bodies, in order on each connection."""
        found, rest = [], self.sent
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            size = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            found.append(rest[:size])
            rest = rest[size:]
        return found


@asynccontextmanager
async def relayed(port: int) -> AsyncIterator[Relay]:
    relay = Relay(port)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        for writer in relay.writers:
            writer.close()
        for writer in relay.writers:
            with suppress(OSError):
                await writer.wait_closed()
