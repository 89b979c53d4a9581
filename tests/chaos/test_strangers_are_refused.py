"""A process that reaches the sockets of an agent in processes without its key can run and break nothing."""

# ruff: noqa: ASYNC110, ASYNC240  # what other processes do can only be polled

import asyncio
import os
import pickle
import socket
import stat
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from callboard.actors.core.agent import ActorSpec, Agent
from callboard.actors.runtime import start_agent
from callboard.actors.runtime.actor_system import leash, seal
from callboard.actors.runtime.actor_system.actors import ActorAddress
from callboard.actors.runtime.processes.system import System
from callboard.errors import AgentFailed
from callboard.testing.conformance.runtime_example import word

PATIENCE_S = 60.0


class Exploit:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return (Path.touch, (self.path,))


def on_stage(monkeypatch: pytest.MonkeyPatch, scenario: Callable[[Agent, Path], Any]) -> None:
    """Play with an agent of one traitor; the scenario gets the private folder, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import chaos_actors

    async def play(base: Path) -> None:
        spec = chaos_actors.agent_of(ActorSpec("traitor", chaos_actors.Traitor, None), base / "diary")
        agent = await start_agent(spec, "processes", home_base=base)
        try:
            await agent.ask("traitor", word("hello"), PATIENCE_S)
            [home] = base.glob("callboard-*")
            await scenario(agent, home)
            await agent.ask("traitor", word("hello"), PATIENCE_S)
            assert [actor.epoch for actor in agent.actors()] == [1], "an actor died of it"
        finally:
            await agent.stop(1)

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(play(Path(base)))


def send(path: Path, data: bytes) -> bytes:
    """What the socket answers within a second or before it closes the connection."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(1)
        try:
            stranger.connect(str(path))
            stranger.sendall(data)
            stranger.shutdown(socket.SHUT_WR)
            return stranger.recv(1024)
        except (ConnectionError, TimeoutError):
            return b""


def sockets(home: Path) -> list[Path]:
    """Those of actors and of the system; the gateway's has closed behind the gateway."""
    return [path for path in home.iterdir() if path.name.isdigit()]


def frames(number: int, exploit: bytes) -> dict[str, bytes]:
    """What a process without the key might send."""
    body = struct.pack(">Q", number) + exploit
    rng = Random(5)
    return {
        "stock thespian": str(len(exploit)).encode() + b" " + exploit,
        "bare pickle": exploit,
        "wrong tag": struct.pack(">I16s", len(body), b"x" * 16) + body,
        "4 GB": struct.pack(">I16s", 0xFFFFFFFF, b"x" * 16) + body,
        "nothing": struct.pack(">I16s", 0, b"x" * 16) + body,
        "negative": struct.pack(">i16s", -7, b"x" * 16) + body,
        "acknowledgement": struct.pack(">I16sQ", 8 + len(seal.ACK), b"x" * 16, 0) + seal.ACK,
        "browser": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + bytes(64),
        "half a frame": body[:10],
        "noise": rng.randbytes(4096),
    }


def test_data_from_other_processes_is_never_unpickled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def scenario(agent: Agent, home: Path) -> None:
        proof = tmp_path / "proof"
        targets = sockets(home)
        assert len(targets) >= 5
        for path in targets:
            for name, data in frames(int(path.name), pickle.dumps(Exploit(proof))).items():
                assert await asyncio.to_thread(send, path, data) == b"", name
        assert not proof.exists()

    on_stage(monkeypatch, scenario)


def test_a_frame_that_was_altered_or_sent_to_another_actor_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def scenario(agent: Agent, home: Path) -> None:
        proof = tmp_path / "proof"
        answer = await agent.ask("traitor", word("key"), PATIENCE_S)
        traitor = home / str(answer.offset)
        monkeypatch.setattr(seal, "_membership", seal.Membership(bytes.fromhex(answer.command_id), str(home)))
        exploit = pickle.dumps((ActorAddress("none"), Exploit(proof)))
        genuine = seal.seal(answer.offset, exploit)

        flipped = genuine[:-3] + bytes([genuine[-3] ^ 8]) + genuine[-2:]
        assert await asyncio.to_thread(send, traitor, flipped) == b""
        for other in sockets(home):
            if other != traitor:
                assert await asyncio.to_thread(send, other, genuine) == b""
        assert not proof.exists()

        # And with the true key, to the right receiver, it runs: so the tests here would see it.
        await asyncio.to_thread(send, traitor, genuine)
        async with asyncio.timeout(PATIENCE_S):
            while not proof.exists():
                await asyncio.sleep(0.01)

    on_stage(monkeypatch, scenario)


@pytest.mark.parametrize("token", [b"x" * 32, b"x", b""])
def test_a_gateway_without_the_token_is_ignored(token: bytes) -> None:
    async def play(base: Path) -> None:
        system = System(base)
        starting = asyncio.ensure_future(system.start(b"nothing to launch"))
        try:
            gateway = Path(system.home, "gateway")
            async with asyncio.timeout(PATIENCE_S):
                while not gateway.exists():
                    await asyncio.sleep(0.001)
            assert await asyncio.to_thread(send, gateway, token + b"or else") == b""
            with pytest.raises(AgentFailed, match="did not start"):
                await starting
        finally:
            await system.end()

    with tempfile.TemporaryDirectory() as base:
        asyncio.run(play(Path(base)))
        assert list(Path(base).iterdir()) == []


def test_only_their_user_can_reach_the_sockets_and_no_port_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(agent: Agent, home: Path) -> None:
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        ours = {inode for pid in descendants(os.getpid()) for inode in socket_inodes(pid)}
        listening = inodes_of("unix", 6)
        assert ours & listening, "or this looks at the wrong processes"
        for protocol in ("tcp", "tcp6", "udp", "udp6"):
            assert not ours & inodes_of(protocol, 9)

    on_stage(monkeypatch, scenario)


def descendants(ancestor: int) -> list[int]:
    children = leash.children(ancestor)
    return children + [pid for child in children for pid in descendants(child)]


def socket_inodes(pid: int) -> set[str]:
    found = set()
    for handle in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = str(handle.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def inodes_of(protocol: str, column: int) -> set[str]:
    table = Path(f"/proc/net/{protocol}")
    if not table.exists():
        return set()
    return {line.split()[column] for line in table.read_text().splitlines()[1:]}


def test_no_command_line_or_environment_contains_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(agent: Agent, home: Path) -> None:
        answer = await agent.ask("traitor", word("key"), PATIENCE_S)
        key = bytes.fromhex(answer.command_id)
        assert len(key) == 32
        for pid in descendants(os.getpid()):
            for name in ("cmdline", "environ"):
                with suppress(ProcessLookupError):  # one that helped to start another has just ended
                    text = Path(f"/proc/{pid}/{name}").read_bytes()
                    assert key not in text
                    assert key.hex().encode() not in text
        for path in home.iterdir():
            assert not path.is_file() or key not in path.read_bytes()

    on_stage(monkeypatch, scenario)
