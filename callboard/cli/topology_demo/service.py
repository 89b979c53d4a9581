"""A service of the demo, as a process of its own: a member of the cluster whose leader counts."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from callboard.actors.runtime.actor_system.leash import die_with_parent
from callboard.board.board import Callboard
from callboard.board.member.member import Member
from callboard.cli.terminal.log_setup import configure_logging
from callboard.connectors import Connectors, ConnectorSettings
from callboard.errors import LeaderReplaced, LeadershipLost

LOG, COUNTS = "sqlite:///./red.db", "counts.db"
READ_TO_WRITE_S = 0.02
SCHEMA = "CREATE TABLE counts (value INTEGER, leader_epoch INTEGER, leader TEXT)"
FIRST = "(SELECT coalesce(max(value), 0) + 1 FROM counts)"
COUNT = "INSERT INTO counts SELECT {value}, ?1, ?2 WHERE ?1 >= (SELECT coalesce(max(leader_epoch), 0) FROM counts)"
"""Refuses a former leader. The first value of a leader is found by the statement that writes it, which from then on
keeps the former leader out.
"""


def serve(folder: Path, name: str, settings: ConnectorSettings) -> None:
    """Run until killed, at the latest with the demo."""
    die_with_parent()
    configure_logging("error")
    asyncio.run(_serve(folder, name, settings))


async def _serve(folder: Path, name: str, settings: ConnectorSettings) -> None:
    async with (
        Callboard(LOG, base=folder) as board,
        board.member(instance=name, cluster="red", profile="fast") as member,
        await connected(member, settings),
    ):
        while True:
            with suppress(LeadershipLost):
                async with member.leader_lease() as token:
                    await _count(folder / COUNTS, token.leader_epoch, name)


async def connected(member: Member, settings: ConnectorSettings) -> Connectors:
    """Connectors that tell others of the member's cluster; the member shows the clusters that they know."""
    instance = (await member.settled()).local_instance.instance
    connectors = Connectors(settings, instance=instance, local=member.local_cluster)
    connectors.changed = member.use_remote(connectors.remote)
    member.add_listener(lambda _: connectors.local_changed(), critical=False)
    return connectors


async def _count(path: Path, epoch: int, name: str) -> None:
    """Read the newest value, wait, and write the next one; without the check of the epoch, two leaders at once could
    write it twice.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        value = FIRST
        while db.execute(COUNT.format(value=value), (epoch, name)).rowcount:
            (newest,) = db.execute("SELECT max(value) FROM counts").fetchone()
            await asyncio.sleep(READ_TO_WRITE_S)
            value = newest + 1
    raise LeaderReplaced("another leader counts now")
