"""Members of one cluster in one process, each on a board of its own that can lose the log."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from callboard import Callboard
from callboard.backends.log import Log
from callboard.board.connect.agents import Agents
from callboard.board.connect.opening import open_board_log
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.member.member import Member
from callboard.board.member.topology_view import TopologyEvent
from callboard.messages.topics import control_topic
from callboard.testing.fakes.faults import Faults, FaultyLog

QUICK: Any = {"lease_s": 60, "renew_s": 0.2, "min_event_delay_s": 0}
"""Nobody is evicted because the machine is busy."""

BRIEF: Any = {"lease_s": 3}
"""A lease that ends within a test, for members that are to lose it."""

DEADLINE_S = 30.0
TOPIC = control_topic()


async def eventually(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not met():  # noqa: ASYNC110 - the condition is of many objects
            await asyncio.sleep(0.005)


class Cluster:
    """Boards on one log in ``folder``; ``cut`` takes it away from a member."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._stack = folder, AsyncExitStack()
        self._faults: dict[str, Faults] = {}
        self.boards: dict[str, Callboard] = {}
        self.members: dict[str, Member] = {}
        self.told: dict[str, list[TopologyEvent]] = {}

    async def board(self, name: str, around: Callable[[Log], Log] = lambda log: log) -> Callboard:
        faults = self._faults[name] = Faults(Random(1), share=2.0, slow_s=0)
        faults.active = False
        settings = BoardSettings("sqlite:///./board.db", "./blobs", self._folder)
        resources = Resources(settings, lambda settings: FaultyLog(around(open_board_log(settings)), faults))
        board = Callboard.on(BoardContext(resources, Agents(resources)))
        self.boards[name] = await self._stack.enter_async_context(board)
        return board

    async def add(self, name: str, around: Callable[[Log], Log] = lambda log: log, **options: Any) -> Member:
        """Start a member that keeps what it is told."""
        board = await self.board(name, around)
        member = self.members[name] = board.member(**{**QUICK, "instance": name} | options)
        told = self.told[name] = []

        async def tell(event: TopologyEvent) -> None:
            told.append(event)

        member.add_listener(tell)
        await member.start()
        self._stack.push_async_callback(member.stop)
        return member

    def cut(self, name: str, *, off: bool = True) -> None:
        self._faults[name].active = off

    async def agreed(self, order: str, *names: str) -> None:
        """Wait until these members, by default those in the order, agree on this order."""
        members = [self.members[name] for name in names or order]
        await eventually(
            lambda: all(
                each.topology().is_current and "".join(it.instance for it in each.topology().instances) == order
                for each in members
            )
        )

    def kinds(self, name: str) -> list[str]:
        return [str(event.kind) for event in self.told[name]]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._faults:
            self.cut(name, off=False)
        await self._stack.aclose()


def run(scenario: Callable[[Cluster], Awaitable[None]], folder: Path) -> None:
    async def within() -> None:
        async with Cluster(folder) as cluster:
            await scenario(cluster)

    asyncio.run(within())
