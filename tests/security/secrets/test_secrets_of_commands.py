"""Passwords in the input of commands appear in nothing that these print, log, write to files or append to the log."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.backends.registry import open_log
from callboard.messages.topics import Topics
from tests.security.secrets.hostile_addresses import HALVES, betrayed
from tests.warm_start import WarmStart

SECRET = "".join(HALVES)
LOG = "sqlite:///./board.db"
DEADLINE_S = 120.0

ADDRESSES = {
    "a server that is not there": f"postgresql://ann:{SECRET}@127.0.0.1:1/x?repository=edge&sslpassword={SECRET}",
    "several": f"postgresql://ann:{SECRET}@127.0.0.1:1,[::1]:1/x?repository=edge",
    "a slash": f"postgresql://ann:12/{SECRET}@127.0.0.1:1/x?repository=edge",
    "mistyped": f"postgre://ann:{SECRET}@127.0.0.1:1/x",
    "one slash": f"postgresql:/ann:{SECRET}@127.0.0.1:1/x",
    "no colon": f"postgresql//ann:{SECRET}@127.0.0.1:1/x",
    "a connection string": f"host=127.0.0.1 password={SECRET}",
    "an option of the driver": f"postgresql://ann@127.0.0.1:1/x?repository=edge&sslmode={SECRET}",
    "kafka": f"kafka://127.0.0.1:1/?security_protocol=SASL_PLAINTEXT&sasl_username=ann&sasl_password={SECRET}",
    "s3": f"s3://AKIA:{SECRET}@bucket/x",
}

ONE_OF_A_KIND = ("a server that is not there", "mistyped", "a connection string", "kafka")
"""Each of the others goes the way of one of these; test_secrets.py has them all, without processes."""

TYPED = tuple(ADDRESSES) if "CALLBOARD_LONG" in os.environ else ONE_OF_A_KIND
each_address = pytest.mark.parametrize("address", [ADDRESSES[kind] for kind in TYPED], ids=TYPED)


class Typist:
    """Types commands in a folder with a site and a board."""

    def __init__(self, folder: Path, warm_start: WarmStart) -> None:
        self.folder = folder
        self._warm_start = warm_start
        self.heard: list[str] = []

    def type(self, *words: str, end_s: float = 0.0, **environ: str) -> str:
        """The output of a command, which is asked to end after a while if it keeps running."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        if end_s:
            said = self._stopped(words, inherited | environ, end_s)
        else:
            done = self._warm_start.run(words, self.folder, inherited | environ, "", DEADLINE_S)
            said = done.stdout + done.stderr
        self.heard.append(f"{' '.join(words)}: {said}")
        return said

    def _stopped(self, words: tuple[str, ...], environ: dict[str, str], end_s: float) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "callboard", *words], cwd=self.folder, env=environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            return process.communicate(timeout=end_s)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            return process.communicate(timeout=DEADLINE_S)[0]

    def betrayals(self) -> list[str]:
        """The output and the files that contain a piece of the password."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path.name != "callboard.toml"]
        found = [str(path) for path in files if betrayed(path.read_bytes().decode("latin-1"))]
        found += [str(path) for path in self.folder.rglob("*") if betrayed(path.name)]
        return found + [text for text in self.heard if betrayed(text.partition(": ")[2])]


@pytest.fixture
def typist(tmp_path: Path, warm_start: WarmStart) -> Typist:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("welcome")

    async def make() -> None:
        async with Callboard(LOG, base=tmp_path) as board:
            await board.publisher().publish("site")

    asyncio.run(make())
    return Typist(tmp_path, warm_start)


@each_address
def test_no_command_reveals_the_password_of_its_log(address: str, typist: Typist) -> None:
    typist.type("doctor", "--log", address, "-v")
    typist.type("init", f"--log={address}", end_s=6)
    typist.type("status", "-v", "--json", end_s=6, CALLBOARD_LOG=address)
    assert typist.betrayals() == []


@each_address
def test_no_command_reveals_the_password_of_its_repository(address: str, typist: Typist) -> None:
    into = ("--log", LOG, "--into", address)
    typist.type("run", "subscriber", "edge", *into, "-v", end_s=6, CALLBOARD_LOGGING__FORMAT="json")
    typist.type("status", "--log", LOG, "--json")
    typist.type("log", "list", "--log", LOG, "--topic", "discovery", "--json")
    typist.type("seed", "other", *into, "--from-repository", address)
    assert typist.betrayals() == []
    assert on_the_log(typist.folder) == []


@pytest.mark.parametrize("kind", ["a slash", "a connection string"])
def test_no_misused_command_reveals_a_password(kind: str, typist: Typist) -> None:
    address = ADDRESSES[kind]
    typist.type("status", "--limit", address)
    typist.type("status", f"--loq={address}")
    typist.type("snapshot", address, "--to", "taken")
    typist.type("publish", address, address, "--log", LOG)
    typist.type("run", "publisher", "--from", address, "--log", LOG, end_s=6)
    typist.type("archive", "run", "--archive", address, "--log", LOG)
    typist.type("pipeline", "rebuild", "--out", "out", "--postgres", address, "--log", LOG)
    typist.type("pipeline", "rebuild", "--out", "out", "--delta", address, "--log", LOG)
    typist.type("pipeline", "queue-at", "--archive", address, "--log", LOG)
    typist.type("doctor", "--log", LOG, "--blobs", address)
    assert typist.betrayals() == []


@pytest.mark.parametrize("line", ["log = {}", "log = [{}]", "log = {}x", "[subscriber]\ninto = [{}]"])
def test_no_error_in_a_configuration_reveals_a_password(line: str, typist: Typist) -> None:
    config = typist.folder / "callboard.toml"
    config.write_text(line.format(json.dumps(f"postgresql://ann@x:{SECRET}@127.0.0.1:1/x")))
    config.chmod(0o644)
    for words in (("doctor", "--json"), ("init",)):
        typist.type(*words, end_s=8)
    assert typist.betrayals() == []


def test_the_doctor_reports_who_may_read_a_password(typist: Typist) -> None:
    config = typist.folder / "callboard.toml"
    config.write_text(f'[subscriber]\ninto = "postgresql://ann:{SECRET}@127.0.0.1:1/x?repository=edge"\n')
    config.chmod(0o644)
    assert "others may read" in typist.type("doctor")
    config.chmod(0o600)
    assert "others may read" not in typist.type("doctor")
    log = f"postgresql://ann:{SECRET}@127.0.0.1:1/x"
    assert "every user of this host may read" in typist.type("doctor", "--log", log)
    assert typist.betrayals() == []


def test_no_process_of_an_agent_has_a_password_in_its_arguments(typist: Typist) -> None:
    into = f"postgresql://ann:{SECRET}@127.0.0.1:1/x?repository=edge"
    (typist.folder / "callboard.toml").write_text(f'runtime = "processes"\n[subscriber]\ninto = "{into}"\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "callboard", "run", "subscriber", "edge"], cwd=typist.folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + DEADLINE_S
        while len(seen := arguments_below(process.pid)) < 5:
            assert time.monotonic() < deadline, seen
            assert process.poll() is None
            time.sleep(0.05)
        assert not betrayed(seen)
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=DEADLINE_S)
    assert not betrayed(output)


def arguments_below(pid: int) -> list[str]:
    """The command lines of a process and of all below it."""
    try:
        own = Path(f"/proc/{pid}/cmdline").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [own, *(each for child in children for each in arguments_below(int(child)))]


def on_the_log(folder: Path) -> list[Any]:
    """The records of all topics that contain a piece of the password."""

    async def read() -> list[Any]:
        log, topics, found = open_log(LOG, folder), Topics.with_prefix("callboard"), list[Any]()
        try:
            for topic in (topics.package, topics.status, topics.discovery, topics.command, topics.event):
                bounds = await log.bounds(topic)
                records = await log.read(topic, bounds.first, 1000, 1 << 24) if bounds.end > bounds.first else []
                found += [each for each in records if betrayed(f"{each.payload!r}{each.header_block!r}")]
        finally:
            await log.close()
        return found

    return asyncio.run(read())
