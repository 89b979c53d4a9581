"""Prometheus for tests: a private process on loopback, removed at the end, and its tool that checks files."""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from callboard.testing.servers.network import free_port

START_S = 60.0
ANSWER_S = 30.0
POLL_S = 0.05


class PrometheusMissing(Exception):
    """It is not installed; the message says how to change that."""


def promtool(*words: str, given: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``promtool``; its exit code is 0 if it has nothing to say. Raises ``PrometheusMissing``."""
    return subprocess.run(  # noqa: S603
        [_installed("promtool"), *words], cwd=folder, input=given, capture_output=True, text=True, timeout=ANSWER_S,
        check=False,
    )  # fmt: skip


class PrometheusServer:
    """A running server on ``port``."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port, self._folder = port, folder
        options = [
            f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        with (folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen([_installed("prometheus"), *options], stdout=log, stderr=log)  # noqa: S603
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"Prometheus does not start:\n{(self._folder / 'server.log').read_text()[-2000:]}")
            time.sleep(POLL_S)

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=ANSWER_S):
                return True
        except URLError:
            return False

    def ask(self, path: str, **query: str) -> Any:
        """The data that its HTTP API answers, such as of ``query`` or ``alerts``."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(query)}"
        with urlopen(url, timeout=ANSWER_S) as answer:
            return json.load(answer)["data"]

    def value(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression, now. Raises ``HTTPError`` for one that it does not understand."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def stop(self) -> None:
        """End it; idempotent."""
        self._process.kill()
        self._process.wait()


@contextmanager
def prometheus_server(configuration: str) -> Iterator[PrometheusServer]:
    """A server with this configuration, in YAML. Raises ``PrometheusMissing``."""
    with tempfile.TemporaryDirectory(prefix="prometheus-") as folder:
        (Path(folder) / "prometheus.yml").write_text(configuration, encoding="utf-8")
        server = PrometheusServer(Path(folder), free_port())
        try:
            yield server
        finally:
            server.stop()


def _installed(program: str) -> str:
    if found := shutil.which(program):
        return found
    raise PrometheusMissing(f"there is no {program} on the PATH; install it (Debian, Ubuntu: apt install prometheus)")
