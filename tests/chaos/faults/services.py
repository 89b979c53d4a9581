"""Services in processes of their own that are struck, and what they tell."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.tidy.sources import ROOT

DEADLINE_S = 60.0
"""For what takes a few seconds on an idle machine."""
POLL_S = 0.02
BRIEF_S = 2.5
"""A lease that ends within a test."""
LONG_S = 60.0
"""A lease that a busy machine cannot miss, where nobody is to lose it."""


class Service:
    """A process of ``telling_service``."""

    def __init__(self, log: str, folder: Path, options: dict[str, Any], said: Path, **environ: str) -> None:
        self.name, self._said = said.stem, said
        command = [sys.executable, "-m", "tests.chaos.faults.telling_service", log, str(folder), json.dumps(options)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        with said.open("ab") as out, said.with_suffix(".log").open("ab") as logged:
            self._process = subprocess.Popen(command, cwd=ROOT, env=clean | environ, stdout=out, stderr=logged)

    @property
    def told(self) -> list[dict[str, Any]]:
        """All that it has told, in order."""
        return [json.loads(line) for line in self._said.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def last(self, *whats: str) -> dict[str, Any]:
        """The newest of these, or else nothing."""
        return next((each for each in reversed(self.told) if each["what"] in whats), {})

    @property
    def leads(self) -> bool:
        return bool(self.last("leads", "stops", "ended").get("what") == "leads")

    @property
    def sees(self) -> str:
        """The members of its view, in their order; empty while that is not current."""
        event = self.last("topology_init", "topology_changing", "topology_changed", "properties_changed")
        return "".join(event.get("members", ())) if event.get("what") != "topology_changing" else ""

    @property
    def end(self) -> dict[str, Any]:
        """How its membership ended, if it has."""
        return self.last("ended")

    def logged(self) -> str:
        return self._said.with_suffix(".log").read_text(errors="replace")

    @property
    def has_crashed(self) -> bool:
        return self._process.poll() not in {None, 0, -signal.SIGKILL}

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Services:
    """Starts services that share a log, and ends them."""

    def __init__(self, folder: Path, log: str) -> None:
        self._folder, self.log, self.lease_s = folder, log, BRIEF_S
        self.all: list[Service] = []

    def start(self, instance: str = "", folder: Path | None = None, **environ: str) -> Service:
        said = self._folder / f"{len(self.all)}.said"
        options = {"lease_s": self.lease_s, "renew_s": 0.5} | ({"instance": instance} if instance else {})
        service = Service(self.log, folder or self._folder, options, said, **environ)
        self.all.append(service)
        return service

    def until(self, met: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + DEADLINE_S
        while not met():
            if time.monotonic() > deadline_s or any(each.has_crashed for each in self.all):
                lines = [f"{each.name} told {each.told}\nand logged {each.logged()}" for each in self.all]
                raise AssertionError("\n".join(lines))
            time.sleep(POLL_S)

    def pair(self) -> tuple[Service, Service]:
        """``a``, which leads, and ``b``."""
        a = self.start("a")
        self.until(lambda: a.leads)
        b = self.start("b")
        self.until(lambda: a.sees == b.sees == "ab")
        return a, b

    def no_two_led_at_once(self) -> bool:
        """Whether each leader stopped before the next one began; not to be asked of one that was suspended."""
        told = [(each["at_ns"], each["what"], service.name) for service in self.all for each in service.told]
        leaders = set[str]()
        for _, what, name in sorted(told):
            if what == "leads":
                if leaders:
                    return False
                leaders.add(name)
            elif what in {"stops", "ended"}:
                leaders.discard(name)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for service in self.all:
            with suppress(ProcessLookupError):
                service.signal(signal.SIGCONT)
            service.kill()
