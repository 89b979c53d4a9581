"""Real servers for the tests that need one. One that cannot be had is an error, never a skip.

``pytest -m "not postgres"`` leaves these tests out.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from callboard.testing.servers.postgres import INSTALLATIONS, NAMED, PostgresServer, own_schema, postgres_server

NAMED_URL = os.environ.get(NAMED, "")

POSTGRES = [f"postgres-{version}" for version in INSTALLATIONS] + ["postgres-named"] * bool(NAMED_URL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "postgres_servers" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")


@pytest.fixture(scope="session")
def postgres_servers() -> Iterator[Callable[[int], PostgresServer]]:
    """Private servers by version, each started when it is first needed."""
    servers: dict[int, PostgresServer] = {}
    with ExitStack() as stack:

        def get(version: int) -> PostgresServer:
            if version not in servers:
                servers[version] = stack.enter_context(postgres_server(version))
            return servers[version]

        yield get


@pytest.fixture(scope="session", params=POSTGRES)
def each_postgres(request: pytest.FixtureRequest, postgres_servers: Callable[[int], PostgresServer]) -> str:
    """The URL of a database on each server in turn."""
    name = str(request.param)
    return NAMED_URL if name == "postgres-named" else postgres_servers(int(name.removeprefix("postgres-"))).url


@pytest.fixture(scope="session")
def newest_postgres(postgres_servers: Callable[[int], PostgresServer]) -> PostgresServer:
    """The server for tests that work with any version. It is shared: do not stop it."""
    return postgres_servers(max(INSTALLATIONS))


@pytest.fixture
def each_postgres_url(each_postgres: str) -> Iterator[str]:
    """A private schema for the test, on each server in turn."""
    with own_schema(each_postgres) as url:
        yield url


@pytest.fixture
def postgres_url(newest_postgres: PostgresServer) -> Iterator[str]:
    """A private schema for the test."""
    with own_schema(newest_postgres.url) as url:
        yield url
