"""Of two that share a subscriber's name one imports at a time, wherever the wall clocks of their hosts jump to.

Every process has a clock of its own that is stepped while it runs, by libfaketime. The times of imports
come from the file system, whose clock is not stepped: renaming a file into its place sets its time of change.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests import stepped_clock

DEADLINE_S = 60.0
LEASE_S = 5.0
STEPS = ("+45s", "+1d", "-1h")

EDGE = """
import asyncio, sys, time
from pathlib import Path
from callboard import Callboard

def hold(call):
    folder = Path(call.into)
    mark = folder.with_suffix(".hold")
    while mark.exists():
        folder.with_suffix(".held").touch()
        time.sleep(0.01)

async def main(into, lease_s, standby):
    async with Callboard("sqlite:///./board.db") as board:
        options = {"claim_ttl_s": float(lease_s), "announce_interval_s": 0.5, "before_import": hold}
        async with board.subscriber("edge-1", into, standby=standby, **options) as edge:
            await edge.ended()

asyncio.run(main(sys.argv[1], sys.argv[2], len(sys.argv) > 3))
"""

SITE = """
import asyncio, sys
from pathlib import Path
from callboard import Callboard

async def main():
    async with Callboard("sqlite:///./board.db") as board:
        site = board.publisher("site")
        print("up", flush=True)
        for line in sys.stdin:
            await site.publish("site", ["/" + line.strip()])
            print("published", flush=True)

asyncio.run(main())
"""


class Clocks:
    """Processes in a folder, each under a wall clock of its own, and one publisher."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[str]] = []
        self._site: subprocess.Popen[str] | None = None
        self._published: list[str] = []
        (folder / "site").mkdir()

    def step(self, name: str, by: str) -> None:
        """The wall clock of this process jumps, or does so as soon as it is started."""
        stepped_clock.step(self.folder / f"{name}.clock", by)

    def start(self, name: str, script: str, *words: str) -> "subprocess.Popen[str]":
        """Start a process under the clock of this name, which is right if it was not stepped yet."""
        clock = self.folder / f"{name}.clock"
        if not clock.exists():
            self.step(name, "+0")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        environ |= stepped_clock.environment(clock)
        with (self.folder / f"{name}.said").open("a") as said:
            process = subprocess.Popen(
                [sys.executable, "-c", script, *words], cwd=self.folder, env=environ,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True,
            )  # fmt: skip
        self._started.append(process)
        return process

    def edge(self, name: str, *words: str) -> "subprocess.Popen[str]":
        """Start the subscriber, into a repository of this name."""
        return self.start(name, EDGE, f"./{name}", str(LEASE_S), *words)

    def publish(self) -> str:
        """Publish one more file; its name."""
        if self._site is None:
            self._site = self.start("publisher", SITE)
            self._wait_for("up")
        name = f"p{len(self._published):02}"
        (self.folder / "site" / name).write_text(name * 10)
        self._published.append(name)
        assert self._site.stdin is not None
        self._site.stdin.write(f"{name}\n")
        self._site.stdin.flush()
        self._wait_for("published")
        return name

    def has(self, edge: str, name: str) -> bool:
        return (self.folder / edge / name).exists()

    def publish_for(self, seconds: float, *edges: str) -> None:
        """Publish one file after the other for so long; each is imported by one of these."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            name = self.publish()
            until(lambda name=name: any(self.has(edge, name) for edge in edges), self.told)  # type: ignore[misc]

    def told(self) -> str:
        return "\n".join(f"{file.name}:\n{file.read_text()[-3000:]}" for file in sorted(self.folder.glob("*.said")))

    def importers(self) -> list[str]:
        """Who imported, one after the other."""
        imports = [
            ((self.folder / edge / name).stat().st_ctime_ns, edge)
            for edge in "abcd"
            for name in self._published
            if self.has(edge, name)
        ]
        return [edge for edge, _ in groupby(edge for _, edge in sorted(imports))]

    def exact(self, edge: str) -> bool:
        """Whether it has just what was published."""
        found = {file.name: file.read_text() for file in (self.folder / edge).iterdir() if file.is_file()}
        files = {name: text for name, text in found.items() if not name.startswith(".")}
        return files == {name: name * 10 for name in self._published}

    def end(self) -> None:
        """Stop what is still running."""
        for process in self._started:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self._started:
            process.communicate(timeout=DEADLINE_S)

    def _wait_for(self, word: str) -> None:
        assert self._site is not None
        assert self._site.stdout is not None
        line = self._site.stdout.readline().strip()
        assert line == word, self.told()


def until(condition: Callable[[], Any], told: Callable[[], str]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.01)


@pytest.fixture
def clocks(tmp_path: Path) -> Iterator[Clocks]:
    found = Clocks(tmp_path)
    yield found
    found.end()


def test_a_process_started_with_a_wrong_clock_does_not_get_a_name_that_is_held(clocks: Clocks) -> None:
    clocks.edge("a")
    first = clocks.publish()
    until(lambda: clocks.has("a", first), clocks.told)
    newcomers = []
    for name, by in zip("bcd", STEPS, strict=True):
        clocks.step(name, by)
        newcomers.append(clocks.edge(name))
    until(lambda: all(each.poll() is not None for each in newcomers), clocks.told)
    clocks.publish_for(0.5, "a")
    assert clocks.exact("a")
    assert clocks.importers() == ["a"]


def test_a_standby_does_not_take_a_held_name_when_a_clock_jumps(clocks: Clocks) -> None:
    clocks.edge("a")
    first = clocks.publish()
    until(lambda: clocks.has("a", first), clocks.told)
    clocks.edge("b", "standby")
    until(lambda: "name.held" in clocks.told(), clocks.told)
    for by in STEPS:
        clocks.step("b", by)
        clocks.publish_for(0.4 * LEASE_S, "a")
        clocks.step("a", by)
        clocks.step("publisher", STEPS[0])
        clocks.publish_for(0.4 * LEASE_S, "a")
    assert clocks.exact("a")
    assert clocks.importers() == ["a"]


def test_a_holder_whose_clock_jumps_during_an_import_keeps_its_name(clocks: Clocks) -> None:
    clocks.edge("a")
    first = clocks.publish()
    until(lambda: clocks.has("a", first), clocks.told)
    clocks.edge("b", "standby")
    until(lambda: "name.held" in clocks.told(), clocks.told)
    for by in STEPS:
        (clocks.folder / "a.held").unlink(missing_ok=True)
        (clocks.folder / "a.hold").touch()
        clocks.publish()
        until((clocks.folder / "a.held").exists, clocks.told)
        clocks.step("a", by)
        (clocks.folder / "a.hold").unlink()
        clocks.publish_for(0.5 * LEASE_S, "a")
    assert clocks.exact("a")
    assert clocks.importers() == ["a"]


def test_a_successor_keeps_its_name_when_clocks_jump_right_after_the_takeover(clocks: Clocks) -> None:
    former = clocks.edge("a")
    first = clocks.publish()
    until(lambda: clocks.has("a", first), clocks.told)
    clocks.edge("b", "standby")
    until(lambda: "name.held" in clocks.told(), clocks.told)
    former.kill()
    until(lambda: clocks.has("b", first), clocks.told)
    clocks.step("b", "-1h")
    clocks.step("a", "+1d")
    clocks.edge("a", "standby")
    clocks.publish_for(2 * LEASE_S, "b")
    clocks.step("b", "+45s")
    clocks.publish_for(0.5 * LEASE_S, "b")
    assert clocks.exact("b")
    assert clocks.importers() == ["a", "b"]


def test_a_holder_suspended_during_an_import_does_not_finish_it_beside_its_successor(clocks: Clocks) -> None:
    stopped = clocks.edge("a")
    first = clocks.publish()
    until(lambda: clocks.has("a", first), clocks.told)
    (clocks.folder / "a.hold").touch()
    second = clocks.publish()
    until((clocks.folder / "a.held").exists, clocks.told)
    clocks.edge("b", "standby")
    until(lambda: "name.held" in clocks.told(), clocks.told)
    stopped.send_signal(signal.SIGSTOP)
    clocks.step("a", "-1h")
    until(lambda: clocks.has("b", second), clocks.told)
    (clocks.folder / "a.hold").unlink()
    stopped.send_signal(signal.SIGCONT)
    clocks.step("b", "+1d")
    clocks.publish_for(1.5 * LEASE_S, "b")
    until(lambda: stopped.poll() is not None, clocks.told)
    assert clocks.exact("b")
    assert not clocks.has("a", second), "its time was over before it was at the end of the import"
    assert clocks.importers() == ["a", "b"]
