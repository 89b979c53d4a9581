"""A board in memory for the tests of services."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from callboard.actors.core.backoff import Backoff
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.tail import SharedTail
from callboard.board.board import Callboard
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.board.context import BoardContext
from callboard.board.jobs.functions.handlers import Handlers
from callboard.board.jobs.functions.publishing import PUBLISH, publishing
from callboard.board.jobs.job import Job
from callboard.board.member.member import Member
from callboard.board.member.options import member_plan
from callboard.door import jobs as door
from callboard.door import members
from callboard.testing.boards.clock import Clock
from callboard.testing.boards.driven import Drive
from callboard.testing.boards.fleet import FleetSubscriber, RunningFleet, named
from callboard.testing.jobs.held_worker import Due, HeldWorker

RETRY = Backoff(first_s=0.01, max_s=0.1)
"""Of a fleet, if the test does not say: failed imports are retried at once."""


class MemoryBoard:
    """A board in memory, to be used in ``async with``, with what a test needs beside it. Nothing is left behind but the
    folders of its fleets.

        async with MemoryBoard(tmp_path) as test:
            fleet = await test.fleet(3)
            await test.board.publisher("site").publish(tmp_path / "site")
            await fleet.deliver_all()

    Args:
        folder: from which relative paths start; the current folder if not given. Fleets import into the folder
            ``fleet`` in it.

    Raises:
        ConfigError: wrong arguments.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._drive = drive = Drive()
        settings = Callboard("memory:", base=folder).settings
        resources = Resources(settings, lambda _: SharedTail(MemoryLog(drive.now_ns)))
        self._context = BoardContext(resources, Agents(resources, run=drive.run), drive.now_ns)
        self._subscribers = 0
        self.clock = Clock(drive)
        """The time on the board."""
        self.board = Callboard.on(self._context)
        """The board, for the service's code."""

    async def __aenter__(self) -> Self:
        await self.board.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.board.__aexit__(kind, error, trace)

    async def fleet(self, names: int | Iterable[str] = 1, **options: Unpack[SubscriberOptions]) -> RunningFleet:
        """Start subscribers, each into a folder of its own; they stop with the board.

        Args:
            names: their names, or how many; these are called ``edge-1`` and so on.
            **options: of all of them, see ``SubscriberOptions``. ``retry`` is a hundred times faster than usual.

        Raises:
            RequestRefused: wrong names.
            CallboardError: as for ``Subscriber.start``.
        """
        its = named(names, self._subscribers)
        self._subscribers += len(its)
        given: SubscriberOptions = {"retry": RETRY, **options}
        folder, found = self._context.settings.base / "fleet", []
        for name in its:
            subscriber = self.board.subscriber(name, folder / name, **given)
            await subscriber.start()
            found.append(FleetSubscriber(name, subscriber, folder / name, self._drive.failures[f"subscriber {name}"]))
        return RunningFleet(self.board, self._drive, found)

    async def run_jobs(self, functions: Mapping[str, Callable[..., object]], *, slots: int = 1) -> tuple[Job, ...]:
        """Run all jobs that are due and have a function here, also those that they add, until none is left. Returns
        them as they are then, in the order in which they ran.

        Args:
            functions: a ``JobRegistry``, or functions by topic, as ``board.jobs.worker`` takes them.
            slots: how many run at a time; with one, they run one after another.

        Raises:
            ConfigError: wrong arguments.
            Exception: what a function raised, but for ``RetryJob`` and ``CancelJob``, when all have run; an
                ``ExceptionGroup`` if several did.
        """
        door.worker(functions=functions, slots=slots)
        context = self._context
        member = Member(context, member_plan(members.options({"instance": secrets.token_hex(4)}), context))
        handlers = Handlers({PUBLISH: publishing(context), **functions})
        worker, due = HeldWorker(context, member, handlers, slots, 0.0), Due(self.board.log, context.settings.prefix)
        async with worker:
            await worker.announce()  # what nobody runs is not due
            await due.until_none(lambda: self._drive.now_ns() // 1_000_000)
        return await worker.outcomes(self.board.jobs)
