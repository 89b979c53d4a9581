"""Private S3 servers for tests: on loopback, initially empty, removed at the end.

Two implementations check each other: ``moto_server`` is fast but accepts any credentials, ``s3proxy_server`` verifies
signatures. Both support creating an object only if it is absent.
"""

import asyncio
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiobotocore.session import get_session

from callboard.testing.servers.network import free_port

S3PROXY = "org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies"
"""The Maven coordinates; the jar needs Java 17."""

S3PROXY_SHA256 = "a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d"

JARS = "TEST_SERVERS_JARS"
"""The environment variable with the folder of fetched servers; by default the user's cache."""

START_TIMEOUT_S = 60.0
FETCH_TIMEOUT_S = 300.0
"""Seconds for Maven to download the jar and its own plugins, once."""

POLL_S = 0.02

ACCESS_KEY = "callboard"
SECRET_KEY = "callboard-secret"  # noqa: S105 - only for a short-lived server on loopback


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server, and its credentials."""

    endpoint_url: str

    @property
    def environment(self) -> dict[str, str]:
        """The AWS configuration to use it, isolated from this machine's."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.endpoint_url.rpartition(":")[2])

    def through(self, port: int) -> "S3Server":
        """The same server, by another port of this host."""
        return S3Server(f"http://127.0.0.1:{port}")

    def url(self, bucket: str, prefix: str = "") -> str:
        """The URL of a blob store on this server."""
        return f"s3://{bucket}/{prefix}?endpoint_url={quote(self.endpoint_url)}"

    def create_bucket(self, name: str) -> None:
        """Create a bucket. Not for use in an event loop."""
        self._ask("create_bucket", Bucket=name)

    def put_object(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object directly, as any holder of the keys can. Not for use in an event loop."""
        self._ask("put_object", Bucket=bucket, Key=key, Body=content)

    def _ask(self, operation: str, **parameters: Any) -> None:
        async def ask() -> None:
            async with _session().create_client(
                "s3",
                endpoint_url=self.endpoint_url,
                region_name="us-east-1",
                aws_access_key_id=ACCESS_KEY,
                aws_secret_access_key=SECRET_KEY,
            ) as client:
                await getattr(client, operation)(**parameters)

        asyncio.run(ask())


@contextmanager
def moto_server() -> Iterator[S3Server]:
    """The server of the package moto. Raises ``RuntimeError`` if it is not installed or does not start."""
    if find_spec("moto") is None:
        raise RuntimeError("moto is not installed; run: pip install 'moto[server]'")
    port = free_port()
    with _running([sys.executable, "-m", "callboard.testing.servers.moto_server", str(port)], port) as server:
        yield server


@contextmanager
def s3proxy_server() -> Iterator[S3Server]:
    """S3Proxy, with its objects in memory. Raises ``RuntimeError`` if it is not available or does not start."""
    jar, java = _s3proxy_jar(), shutil.which("java")
    if java is None:
        raise RuntimeError("S3Proxy needs Java 17 or newer on the PATH; install a Java runtime")
    port = free_port()
    properties = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": ACCESS_KEY,
        "s3proxy.credential": SECRET_KEY,
        "jclouds.provider": "transient-nio2",
        "jclouds.identity": "unused",
        "jclouds.credential": "unused",
    }
    with tempfile.TemporaryDirectory(prefix="callboard-s3-") as folder:
        settings = Path(folder) / "s3proxy.properties"
        settings.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        with _running([java, "-Xmx512m", "-jar", str(jar), "--properties", str(settings)], port) as server:
            yield server


def jars() -> Path:
    """The folder where fetched servers are kept."""
    return Path(os.environ.get(JARS) or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callboard")


def _s3proxy_jar() -> Path:
    """The verified jar, from the user's cache or from Maven."""
    cache = jars()
    _, name, version, kind, classifier = S3PROXY.split(":")
    jar = cache / f"{name}-{version}-{classifier}.{kind}"
    if not jar.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "fetching").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not jar.exists():  # another process may have brought it
                _fetch(jar)
    if hashlib.sha256(jar.read_bytes()).hexdigest() != S3PROXY_SHA256:
        raise RuntimeError(f"{jar} is not the {name} {version} that was tested; remove the file and try again")
    return jar


def _fetch(jar: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError(f"S3Proxy is fetched with Maven; install mvn, or put the jar at {jar}")
    command = [maven, "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={S3PROXY}",
               f"-DoutputDirectory={jar.parent}"]  # fmt: skip
    done = subprocess.run(  # noqa: S603
        command, cwd=jar.parent, capture_output=True, text=True, check=False, timeout=FETCH_TIMEOUT_S
    )
    if done.returncode:
        raise RuntimeError(f"Maven cannot bring {S3PROXY}:\n{done.stdout}{done.stderr}")


@contextmanager
def _running(command: list[str], port: int) -> Iterator[S3Server]:
    """The server that this command starts, once it answers."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"{' '.join(command)} does not start:\n{log.read().decode()[-2000:]}")
                time.sleep(POLL_S)
            yield S3Server(f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=START_TIMEOUT_S).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return True
    except OSError:
        return False
    return True


@cache
def _session() -> Any:
    return get_session()  # reads the description of S3 once
