"""Three clusters of processes on three boards, connected through a real reverse proxy, HAProxy.

What goes to and from the proxy is recorded on both of its sides.
"""

import asyncio
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.topology.announcements.connector import Timing
from callboard.connectors import ConnectorKey, ConnectorSettings
from callboard.messages.codec import decode
from callboard.messages.topology.connector_messages import Envelope
from tests.connectors.parties import Relay, eventually, relayed, run
from tests.connectors.service import serve
from tests.connectors.test_behind_a_proxy import proxied
from tests.connectors.test_who_may_connect import Authority

OLD, NEW = ConnectorKey("old-key", bytes(range(7, 39))), ConnectorKey("new-key", bytes(range(99, 131)))
TIMING = Timing(interval_ms=200, timeout_ms=30_000, stable_factor=3)
CALLING = {"red-one": "red", "red-two": "red", "blue-one": "blue"}
ALL = {"green-one": "green", "red-quiet": "red", **CALLING}
"""``red-quiet`` has no connector: others announce it, and it never sends anything itself."""

ENDS = ["green-one", *CALLING]
NAMES = [name.encode() for name in (*ALL, "red-one-tag", "round", "log_id", "instance", OLD.id, NEW.id)]
SECRETS = [written for key in (OLD, NEW)
           for written in (key.secret, key.secret.hex().encode(), b64encode(key.secret)[:40])]  # fmt: skip


class Services:
    """The processes by name, and all their reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pipes: dict[str, Any] = {}
        self.reports: dict[str, list[tuple[dict[str, str], set[str]]]] = {}
        self.ports: dict[str, int] = {}

    @asynccontextmanager
    async def started(self, name: str, settings: ConnectorSettings) -> AsyncIterator[None]:
        folder, context = self.folder / ALL[name], get_context("spawn")
        folder.mkdir(exist_ok=True)
        self.pipes[name], theirs = context.Pipe()
        self.reports[name] = []
        process = context.Process(target=serve, args=(folder, name, ALL[name], settings, theirs))
        process.start()
        theirs.close()
        asyncio.get_running_loop().add_reader(self.pipes[name].fileno(), self.take, name)
        try:
            await eventually(lambda: name in self.ports)
            yield
            self.pipes[name].send(("end",))
            await asyncio.to_thread(process.join, 20)
        finally:
            asyncio.get_running_loop().remove_reader(self.pipes[name].fileno())
            process.kill()
            process.join()
            self.pipes[name].close()

    def take(self, name: str) -> None:
        try:
            told = self.pipes[name].recv()
        except EOFError:
            asyncio.get_running_loop().remove_reader(self.pipes[name].fileno())
            return
        if isinstance(told, int):
            self.ports[name] = told
        else:
            self.reports[name].append(told)

    def all_see(self, wanted: dict[str, str]) -> bool:
        return all(self.reports[name] and self.reports[name][-1][0] == wanted for name in ENDS)


@pytest.mark.proves("T76")
@run
async def test_changing_keys_of_running_clusters_loses_no_member_and_keeps_messages_unreadable(tmp_path):
    authority, services = Authority(tmp_path, "ours"), Services(tmp_path)
    listening = ConnectorSettings(listen="127.0.0.1:0", keys=(OLD,), timing=TIMING)
    quiet = ConnectorSettings(timing=TIMING)
    async with (
        services.started("green-one", listening), services.started("red-quiet", quiet),
        relayed(services.ports["green-one"]) as behind,
        proxied(authority, {"green-one": behind.port}) as url,
        relayed(int(url.split(":")[2].partition("/")[0])) as before,
    ):  # fmt: skip
        tls = authority.issue("caller", authority)
        calling = ConnectorSettings(
            urls=((before.url.replace("http:", "https:"),),), keys=(OLD,), tls=tls, timing=TIMING
        )
        async with (
            services.started("red-one", calling), services.started("red-two", calling),
            services.started("blue-one", calling),
        ):  # fmt: skip
            rounds = dict.fromkeys(ALL, "0")
            await eventually(lambda: services.all_see(rounds))
            known_after = {name: len(services.reports[name]) for name in ENDS}
            for step, keys in enumerate([(OLD, NEW), (NEW, OLD), (NEW,)], 1):
                for name in ENDS:
                    services.pipes[name].send(("keys", keys))
                    services.pipes[name].send(("set", {"round": str(step)}))
                    rounds[name] = str(step)
                    await eventually(lambda: services.all_see(rounds))
            reports = {name: services.reports[name][known_after[name] :] for name in ENDS}
    for name, after in reports.items():
        assert len(after) >= 3 * len(ENDS), name
        assert {frozenset(seen) for seen, _ in after} == {frozenset(ALL)}, name
        assert not set().union(*(problems for _, problems in after)), name
    assert {decode(Envelope, body).key_id for body in behind.bodies()} == {OLD.id, NEW.id}
    assert_unreadable(before, NAMES)
    assert_unreadable(behind, [mark for mark in NAMES if mark not in (b"new-key", b"old-key")])


def assert_unreadable(relay: Relay, names: list[bytes]) -> None:
    for wire in (relay.sent, relay.got):
        assert len(wire) > 5_000
        plain = b"".join([wire, *(inflated(wire[at : at + 2_000]) for at in range(len(wire)))])
        assert not [mark for mark in (*names, *SECRETS) if mark in plain]


def inflated(data: bytes) -> bytes:
    """What these bytes hold, as far as they are zlib, gzip or bare deflate."""
    found = b""
    for kind in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        inflating = zlib.decompressobj(kind)
        try:
            found += inflating.decompress(data, 10_000)
        except zlib.error:
            continue
    return found


def test_the_search_finds_compressed_text():
    text = b"red-quiet " * 20
    relay = Relay(0)
    relay.connections.append((bytearray(bytes(5_000) + zlib.compress(text, wbits=31)), bytearray(5_001)))
    with pytest.raises(AssertionError):
        assert_unreadable(relay, [b"red-quiet"])
