"""Syncthing: an instance for the source and one for each target, which knows only the source.

Nothing leaves loopback. The source is told to look at the changed path, so that its watcher's delay of ten seconds is
not measured. Fewer targets, because an instance takes 50 to 100 MB.
"""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from distribution.distributor import Distributor, Missing, folders, run
from distribution.tree import Tree

from callboard.testing.servers.network import free_port

TARGETS_MAX = 10
KEY = "benchmark"
START_S, DEADLINE_S, POLL_S, FILE_POLL_S = 60.0, 3600.0, 0.1, 0.01

CONFIGURATION = """<configuration version="36">
<folder id="tree" path={path} type={kind} rescanIntervalS="0" fsWatcherEnabled="false">
<paused>{paused}</paused>{members}</folder>
{devices}
<gui enabled="true" tls="false"><address>127.0.0.1:{api}</address><apikey>{key}</apikey></gui>
<options>
<listenAddress>tcp://127.0.0.1:{port}</listenAddress><globalAnnounceEnabled>false</globalAnnounceEnabled>
<localAnnounceEnabled>false</localAnnounceEnabled><relaysEnabled>false</relaysEnabled><natEnabled>false</natEnabled>
<startBrowser>false</startBrowser><urAccepted>-1</urAccepted><autoUpgradeIntervalH>0</autoUpgradeIntervalH>
<crashReportingEnabled>false</crashReportingEnabled><reconnectionIntervalS>1</reconnectionIntervalS>
<setLowPriority>false</setLowPriority>
</options>
</configuration>
"""


@dataclass(frozen=True)
class Instance:
    """A Syncthing of its own."""

    home: Path
    content: Path
    device: str
    port: int
    api: int

    def configure(self, kind: str, others: list["Instance"], paused: str) -> None:
        """Share the content with others. The ``kind`` is that of a folder of Syncthing."""
        known = [self, *others]
        devices = "\n".join(
            f'<device id="{each.device}" compression="never"><address>tcp://127.0.0.1:{each.port}</address></device>'
            for each in known
        )
        members = "".join(f'<device id="{each.device}"/>' for each in known)
        text = CONFIGURATION.format(
            path=quoteattr(str(self.content)), kind=quoteattr(kind), paused=paused, members=members, devices=devices,
            api=self.api, port=self.port, key=KEY,
        )  # fmt: skip
        (self.home / "config.xml").write_text(text)

    def ask(self, method: str, call: str, body: object = None) -> Any:
        """Ask its API."""
        url, data = f"http://127.0.0.1:{self.api}/rest/{call}", json.dumps(body).encode() if body else None
        request = urllib.request.Request(url, data, {"X-API-Key": KEY}, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it."""
        command = ["syncthing", "serve", f"--home={self.home}", "--no-browser", "--logfile", self.home / "log"]
        settings = os.environ | {"STMONITORED": "1", "STNOUPGRADE": "1"}  # one process instead of two
        process = subprocess.Popen(command, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_S
            while not self._answers():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Syncthing does not start: {(self.home / 'log').read_text()[-1000:]}")
                time.sleep(POLL_S)
            yield
        finally:
            process.terminate()
            process.wait()

    def _answers(self) -> bool:
        try:
            return bool(self.ask("GET", "system/ping"))
        except OSError:
            return False


@contextmanager
def syncthing(folder: Path, files: int, targets: int) -> Iterator[dict[str, Distributor]]:
    if shutil.which("syncthing") is None:
        raise Missing("syncthing is not installed")
    tree, copies = Tree(folder / "tree", files), folders(folder, min(targets, TARGETS_MAX))
    source, *others = (instance(folder / f"home-{number}", root) for number, root in enumerate([tree.root, *copies]))
    source.configure("sendonly", others, paused="true")
    for other in others:
        other.content.mkdir()
        other.configure("receiveonly", [source], paused="false")

    def lacks(other: Instance) -> bool:
        return bool(other.ask("GET", "db/status?folder=tree")["localFiles"] < files)

    def first() -> float:
        source.ask("PATCH", "config/folders/tree", {"paused": False})
        return _once_none(others, lacks, POLL_S)

    def change(path: str) -> float:
        size = (tree.root / path).stat().st_size
        source.ask("POST", f"db/scan?folder=tree&sub={quote(path)}")
        return _once_none(others, lambda other: _bytes(other.content / path) != size, FILE_POLL_S)

    with ExitStack() as stack:
        for each in (source, *others):
            stack.enter_context(each.running())
        yield {"Syncthing": Distributor(tree, copies, change, first)}


def _bytes(path: Path) -> int:
    """The size of a file, 0 while there is none: Syncthing removes the old file before it renames the new one."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _once_none(others: list[Instance], lacks: Callable[[Instance], bool], poll_s: float) -> float:
    """Wait until none lacks it, and return when."""
    deadline = time.monotonic() + DEADLINE_S
    for other in others:
        while lacks(other):
            if time.monotonic() > deadline:
                raise RuntimeError(f"Syncthing has not brought the tree to {other.content}")
            time.sleep(poll_s)
    return time.monotonic()


def instance(home: Path, content: Path) -> Instance:
    """A new instance, with its keys."""
    run("syncthing", "generate", f"--home={home}", "--no-default-folder", "--skip-port-probing")
    device = subprocess.run(["syncthing", f"--home={home}", "--device-id"], capture_output=True, text=True, check=True)
    return Instance(home, content, device.stdout.strip(), free_port(), free_port())
