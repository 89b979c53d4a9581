"""A process that is a member of a cluster, connected to others, and reports every view that it has."""

import asyncio
from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from callboard import Callboard
from callboard.actors.runtime.actor_system.leash import die_with_parent
from callboard.board.member.member import Member
from callboard.connectors import Connectors, ConnectorSettings


def serve(folder: Path, name: str, cluster: str, settings: ConnectorSettings, pipe: Connection) -> None:
    """Run until it is asked to end."""
    die_with_parent()
    asyncio.run(_serve(folder, name, cluster, settings, pipe))


async def _serve(folder: Path, name: str, cluster: str, settings: ConnectorSettings, pipe: Connection) -> None:
    options: Any = {"lease_s": 20, "renew_s": 0.5, "min_event_delay_s": 0, "tags": [f"{name}-tag"]}
    async with (
        Callboard("sqlite:///./board.db", base=folder) as board,
        board.member(instance=name, cluster=cluster, properties={"round": "0"}, **options) as member,
    ):
        await member.settled()
        connectors = Connectors(settings, instance=name, local=member.local_cluster)
        show = member.use_remote(connectors.remote)

        def changed() -> None:
            show()
            pipe.send(_report(member, connectors))

        async def listen(_: object) -> None:
            connectors.local_changed()
            pipe.send(_report(member, connectors))

        connectors.changed = changed
        member.add_listener(listen, critical=False)
        async with connectors:
            pipe.send(connectors.port)
            while (order := await asyncio.to_thread(pipe.recv))[0] != "end":
                if order[0] == "keys":
                    connectors.use_keys(order[1])
                else:
                    await member.set_properties(order[1])
            pipe.send(_report(member, connectors))


def _report(member: Member, connectors: Connectors) -> tuple[dict[str, str], Iterable[str]]:
    """The round that each instance has as a property, and what is wrong with the connectors."""
    rounds = {each.instance: each.properties.get("round", "") for each in member.topology().instances}
    return rounds, {each.problem for each in connectors.links() if each.problem}
