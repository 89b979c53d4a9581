"""The processes of a site: its relay, and its subscribers."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from callboard.actors.runtime.actor_system.leash import die_with_parent
from callboard.board.board import Callboard
from callboard.cli.terminal.log_setup import configure_logging
from callboard.errors import LogUnavailable

EDGES = 10
"""Subscribers of a site."""


AGAIN_S = 0.5
"""After which a relay starts again that has found no server."""


def site_log(site: str) -> str:
    """The log of the site."""
    return f"sqlite:///./{site}.db"


def tree_of(folder: Path, site: str, edge: int) -> Path:
    """Where the subscriber of this number imports to."""
    return folder / site / f"edge-{edge}"


def serve_relay(folder: Path, site: str, log: str, blobs: str, environment: Mapping[str, str]) -> None:
    """Run the relay of the site until killed, at the latest with the demo."""
    _begin(folder, f"{site}-relay", environment)
    while True:  # as a service manager would
        with suppress(LogUnavailable):
            asyncio.run(_serve_relay(folder, site, log, blobs))
        time.sleep(AGAIN_S)


def serve_edges(folder: Path, site: str) -> None:
    """Run the subscribers of the site until killed, at the latest with the demo."""
    _begin(folder, f"{site}-edges", {})
    asyncio.run(_serve_edges(folder, site))


def _begin(folder: Path, name: str, environment: Mapping[str, str]) -> None:
    die_with_parent()
    os.environ.update(environment)
    log = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, sys.stderr.fileno())  # what a killed server does to those who use it is not for the terminal
    configure_logging("warning")


async def _serve_relay(folder: Path, site: str, log: str, blobs: str) -> None:
    async with (
        Callboard(log, blobs=blobs, base=folder, create=False) as centre,
        Callboard(site_log(site), base=folder) as there,
        centre.relay(site, there, ledger=f"sqlite:{site}-relay.db", claim_ttl_s=5.0, announce_interval_s=1.0),
    ):
        await asyncio.Event().wait()


async def _serve_edges(folder: Path, site: str) -> None:
    async with Callboard(site_log(site), base=folder) as board, AsyncExitStack() as stack:
        for edge in range(1, EDGES + 1):
            its = board.subscriber(f"edge-{edge}", tree_of(folder, site, edge), announce_interval_s=1.0)
            await stack.enter_async_context(its)
        await asyncio.Event().wait()
