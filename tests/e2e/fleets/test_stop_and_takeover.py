"""A subscriber runs one import at a time, even if it stops, dies, is suspended, copied or started twice."""

import asyncio
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, SubscriberTaken
from callboard.actors.core.hooks import HookCall

DEADLINE_S = 60.0

WAITING = """
import time
from pathlib import Path

def wait(call):
    folder = Path(call.into).parent
    (folder / "begun").touch()
    while not (folder / "go on").exists():
        time.sleep(0.01)
"""
"""A hook that runs until the file ``go on`` appears."""

HANGING = """
import os, time
from pathlib import Path

def hang_once(call):
    file = Path(call.into).parent / f"{call.attempt}.new"
    file.write_text(str(os.getpid()))
    file.rename(file.with_suffix(""))
    time.sleep(3600 if call.attempt == 1 else 0)
"""
"""A hook that never ends at its first call."""

EDGE = """
import asyncio, sys
from callboard import Callboard

async def main(into, standby):
    async with Callboard("sqlite:///./board.db") as board:
        edge = board.subscriber("edge-1", into, standby=standby, claim_ttl_s=3.0, announce_interval_s=0.5)
        async with edge:
            await edge.ended()

asyncio.run(main(sys.argv[1], len(sys.argv) > 2))
"""
"""A subscriber that is given up for dead sooner than usual."""


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


def runs(pid: str) -> bool:
    return Path("/proc", pid).exists()


def publish(terminal: Any, name: str) -> None:
    (terminal.folder / "site" / name).write_text(name)
    terminal.run("publish", "./site", f"/{name}")


@pytest.mark.proves("W9", "F96", "R20")
@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_a_subscriber_finishes_the_running_import_before_it_stops(terminal: Any, runtime: str) -> None:
    (terminal.folder / "slow_hooks.py").write_text(WAITING)
    publish(terminal, "one")
    words = ("run", "subscriber", "edge-1", "--into", "./out", "--before-import", "slow_hooks:wait")
    process = terminal.start(*words, "--runtime", runtime)
    until((terminal.folder / "begun").exists)
    process.send_signal(signal.SIGTERM)
    until(lambda: terminal.json("status")["subscribers"])
    assert process.poll() is None, "it waits for the import"
    (terminal.folder / "go on").touch()
    _, output = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, output
    assert (terminal.folder / "out" / "one").read_text() == "one"
    row = terminal.until("edge-1", lambda row: row["liveness"] == "stopped")
    assert (row["offset"], row["imported"]) == (1, 1)


@pytest.mark.proves("W9", "F75", "R18")
def test_a_quick_restart_never_leaves_two_imports_running(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")
    begun, release = threading.Event(), threading.Event()
    attempts: list[int] = []

    def wait(call: HookCall) -> None:
        attempts.append(call.attempt)
        if len(attempts) == 1:
            begun.set()
            release.wait()

    async def play() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            await board.publisher("site").publish(tmp_path / "site")
            edge = board.subscriber("edge-1", "./out", before_import=wait, stop_drain_s=0.0)
            await edge.start()
            await asyncio.to_thread(begun.wait)
            await edge.stop()
            await edge.caught_up()
            assert (await edge.report()).imported == 1
            written_ns = (tmp_path / "out" / "a").stat().st_mtime_ns
            release.set()
            assert (await edge.report()).imported == 1
            assert (tmp_path / "out" / "a").stat().st_mtime_ns == written_ns
            await edge.stop()

    try:
        asyncio.run(play())
    finally:
        release.set()
    assert attempts == [1, 2]


@pytest.mark.proves("W9", "F75")
def test_a_quick_restart_of_processes_never_leaves_two_imports_running(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")
    (tmp_path / "quick_hooks.py").write_text(HANGING)

    async def play() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
            await board.publisher("site").publish(tmp_path / "site")
            edge = board.subscriber("edge-1", "./out", before_import="quick_hooks:hang_once", stop_drain_s=0.0)
            await edge.start()
            await asyncio.to_thread(until, (tmp_path / "1").exists)
            await edge.stop()
            assert not runs((tmp_path / "1").read_text()), "the importer is gone, and its import too"
            await edge.caught_up()
            assert (await edge.report()).imported == 1

    asyncio.run(play())
    assert (tmp_path / "2").exists()


@pytest.mark.proves("F94")
def test_a_standby_takes_over_at_once_when_the_holder_stops(terminal: Any) -> None:
    publish(terminal, "one")
    active = terminal.start("run", "subscriber", "edge-1", "--into", "./a")
    until((terminal.folder / "a" / "one").exists)
    terminal.start("run", "subscriber", "edge-1", "--into", "./b", "--standby")
    publish(terminal, "two")
    until((terminal.folder / "a" / "two").exists)
    assert not (terminal.folder / "b" / "one").exists()
    active.send_signal(signal.SIGTERM)
    until((terminal.folder / "b" / "two").exists)
    assert active.wait(DEADLINE_S) == 0


@pytest.mark.proves("F94")
def test_a_standby_on_the_same_repository_takes_over_at_once_when_the_holder_is_killed(terminal: Any) -> None:
    publish(terminal, "one")
    active = terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    until((terminal.folder / "out" / "one").exists)
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--standby")
    active.kill()
    publish(terminal, "two")
    until((terminal.folder / "out" / "two").exists)
    row = terminal.until("edge-1", lambda row: row["offset"] == 2)
    assert row["imported"] == 2, "it continues where the other one was"


@pytest.mark.proves("W9", "F94")
def test_a_suspended_and_replaced_subscriber_imports_nothing_when_it_resumes(terminal: Any) -> None:
    publish(terminal, "one")
    suspended: subprocess.Popen[str] = terminal.start("./a", script=EDGE)
    until((terminal.folder / "a" / "one").exists)
    terminal.start("./b", "standby", script=EDGE)
    suspended.send_signal(signal.SIGSTOP)
    until((terminal.folder / "b" / "one").exists)
    publish(terminal, "two")
    until((terminal.folder / "b" / "two").exists)
    suspended.send_signal(signal.SIGCONT)
    _, output = suspended.communicate(timeout=DEADLINE_S)
    assert "SubscriberTaken: subscriber 'edge-1' already runs" in output
    assert not (terminal.folder / "a" / "two").exists()


@pytest.mark.proves("F94")
def test_a_copy_of_a_running_subscriber_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")
    options: dict[str, Any] = {"announce_interval_s": 0.5}

    async def play() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            await board.publisher("site").publish(tmp_path / "site")
            async with board.subscriber("edge-1", "./original", **options) as edge:
                await edge.caught_up()
                await asyncio.to_thread(shutil.copytree, tmp_path / "original", tmp_path / "copy")
                copy = board.subscriber("edge-1", "./copy", **options)
                with pytest.raises(SubscriberTaken, match=r"already runs as instance .*original"):
                    await copy.caught_up()
                await edge.caught_up()
                (row,) = (await board.status()).subscribers
                assert row.liveness == "live"

    asyncio.run(play())


@pytest.mark.proves("F93")
def test_the_ready_file_exists_while_the_subscriber_may_serve(terminal: Any) -> None:
    file = terminal.folder / "ready"
    file.write_text("of one that was killed")
    publish(terminal, "one")
    (terminal.folder / "callboard.toml").write_text("[subscriber]\nready_idle_s = 0.5\n")
    process = terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--ready-file", "ready")
    until(lambda: file.exists() and file.read_text() == f"{process.pid}\n")
    row = terminal.until("edge-1", lambda row: row["ready"])
    assert row["ready_reason"] in ("idle", "latency")
    assert terminal.json("ready", "edge-1")["ready"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0
    assert not file.exists()
    assert "not ready: it is stopped" in terminal.run("ready", "edge-1", code=1).stdout


@pytest.mark.proves("W20")
def test_readiness_survives_a_restart_of_the_subscriber_within_its_service(tmp_path: Path) -> None:
    async def play() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            edge = board.subscriber("edge-1", "./out", ready_idle_s=0.0)
            assert not edge.ready
            assert await edge.until_ready() == "idle"
            assert edge.ready
            await edge.stop()
            assert edge.ready
            await edge.caught_up()
            assert await edge.until_ready() == "idle"
            await edge.stop()

    asyncio.run(play())
