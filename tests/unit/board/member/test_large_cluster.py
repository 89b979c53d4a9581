"""A cluster of a hundred members, and nightly of two hundred, in one process, on one log."""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from callboard import Callboard, Member

MEMBERS = 200 if "CALLBOARD_LONG" in os.environ else 100
DEADLINE_S = 240.0
"""They agree within ten seconds of processor time, of which a busy machine gives a part."""


async def agreed(members: Iterable[Member], count: int) -> set[tuple[str, ...]]:
    """Wait until each shows a current view of this many instances; return the orders that they show."""

    def orders() -> set[tuple[str, ...]]:
        views = [each.topology() for each in members]
        return {tuple([it.instance for it in view.instances]) if view.is_current else () for view in views}

    async with asyncio.timeout(DEADLINE_S):
        while {len(order) for order in orders()} != {count}:  # noqa: ASYNC110 - the condition is of many objects
            await asyncio.sleep(0.5)
    return orders()


def test_many_members_agree_and_are_told_when_the_leader_leaves(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard("sqlite:///./board.db", base=tmp_path) as board:
            members = {name: board.member(instance=name) for name in map("m{}".format, range(MEMBERS))}
            for each in members.values():
                await each.start()
            (order,) = await agreed(members.values(), MEMBERS)
            assert set(order) == members.keys()

            await members.pop(order[0]).stop()

            assert await agreed(members.values(), MEMBERS - 1) == {order[1:]}
            assert [name for name, each in members.items() if each.is_leader()] == [order[1]]
            await asyncio.gather(*(each.stop() for each in members.values()))

    asyncio.run(scenario())
