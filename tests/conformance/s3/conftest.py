"""Real S3 servers for the tests of this folder. One that cannot be had is an error, never a skip.

``pytest -m "not s3"`` leaves these tests out, ``-m "not s3proxy"`` those that need Java.
"""

import os
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from callboard.testing.servers.s3 import S3Server, moto_server, s3proxy_server

_numbers = count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "s3_session" in names or "moto_session" in names:
            item.add_marker("s3")
        if "s3proxy_session" in names:
            item.add_marker("s3proxy")


@pytest.fixture(scope="session")
def moto_session() -> Iterator[S3Server]:
    with moto_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3proxy_session() -> Iterator[S3Server]:
    with s3proxy_server() as server:
        yield server


@pytest.fixture(scope="session", params=["moto", pytest.param("s3proxy", marks=pytest.mark.s3proxy)])
def s3_session(request: pytest.FixtureRequest) -> S3Server:
    return request.getfixturevalue(f"{request.param}_session")


@pytest.fixture
def moto(moto_session: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The quick server, and the environment in which it is used."""
    return used(moto_session, monkeypatch)


@pytest.fixture
def s3proxy(s3proxy_session: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The strict server, and the environment in which it is used."""
    return used(s3proxy_session, monkeypatch)


@pytest.fixture
def s3(s3_session: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """Each server in turn, and the environment in which it is used."""
    return used(s3_session, monkeypatch)


@pytest.fixture
def new_bucket() -> Callable[[S3Server], str]:
    """Creates a bucket on a server, and returns its name."""

    def new(server: S3Server) -> str:
        name = f"test-{os.getpid()}-{next(_numbers)}"
        server.create_bucket(name)
        return name

    return new


def used(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server
