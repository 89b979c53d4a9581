"""Subscribers for a test."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from callboard.board.board import Callboard
from callboard.board.subscriber import Subscriber
from callboard.door.questions import asked
from callboard.door.rules import Unfit, checked, name, several, shown, text, whole
from callboard.errors import CallboardError, NotAllImported, RequestRefused
from callboard.escaping import escaped
from callboard.testing.boards.driven import Drive

S_co = TypeVar("S_co", covariant=True)
T = TypeVar("T")

DELIVER_S = 10.0

FLEET_MAX = 100
"""More would not fit on an event loop that also runs the test."""

REASON = "the test lets this import fail"
REASON_CHARS_MAX = 1000
FAILURES = {"times": whole(1, 1000), "reason": text(REASON_CHARS_MAX)}


class FleetSubscriber(Generic[S_co]):
    """One of a fleet: the ``subscriber``, its ``name``, and the folder ``into`` which it imports."""

    def __init__(self, name: str, subscriber: S_co, into: Path, failures: deque[str]) -> None:
        self.name, self.subscriber, self.into, self._failures = name, subscriber, into, failures

    def __repr__(self) -> str:
        return f"<{self.name} of a fleet>"

    def over(self, subscriber: T) -> "FleetSubscriber[T]":
        """The same, with its subscriber in another form."""
        return FleetSubscriber(self.name, subscriber, self.into, self._failures)

    def fail_next_import(self, times: int = 1, *, reason: str = REASON) -> None:
        """Let its next attempts to import a package fail: nothing is changed, and the attempt counts.

        Raises ``RequestRefused`` for wrong arguments.
        """
        given = checked(RequestRefused, FAILURES, {"times": times, "reason": reason})
        self._failures.extend([given["reason"]] * given["times"])


class Fleet(Generic[S_co]):
    """Some subscribers, in the order of their names as given; each can be had by its name."""

    def __init__(self, subscribers: Sequence[FleetSubscriber[S_co]]) -> None:
        self._subscribers = {each.name: each for each in subscribers}

    def __iter__(self) -> Iterator[FleetSubscriber[S_co]]:
        return iter(self._subscribers.values())

    def __len__(self) -> int:
        return len(self._subscribers)

    def __getitem__(self, name: str) -> FleetSubscriber[S_co]:
        if not isinstance(name, str) or name not in self._subscribers:
            known = ", ".join(self._subscribers) or "nobody"
            raise RequestRefused(f"no subscriber {shown(name)} in this fleet of {known}", code="unknown_name")
        return self._subscribers[name]


class RunningFleet(Fleet[Subscriber]):
    """See ``Fleet``."""

    def __init__(self, board: Callboard, drive: Drive, subscribers: Sequence[FleetSubscriber[Subscriber]]) -> None:
        super().__init__(subscribers)
        self._board, self._drive = board, drive

    async def deliver_all(self, timeout_s: float = DELIVER_S) -> None:
        """Wait until all have everything that is on the log now, as ``Subscriber.caught_up`` does for one; those that
        were stopped are started again.

        Raises:
            AssertionError: some do not have it within ``timeout_s`` seconds, or cannot get it; it says why.
            RequestRefused: ``timeout_s`` is no time.
        """
        asked(timeout_s=timeout_s)
        problems = list(filter(None, await asyncio.gather(*(self._deliver(each, timeout_s) for each in self))))
        if problems:
            heading = f"{len(problems)} of {len(self)} subscribers do not have everything:"
            raise AssertionError("\n".join((heading, *problems)))

    async def _deliver(self, its: FleetSubscriber[Subscriber], timeout_s: float) -> str:
        """Wait for one; returns why it cannot have everything, empty if it has."""
        try:
            await its.subscriber.caught_up(timeout_s)
        except NotAllImported as error:
            await self._drive.settle()  # the status says why, the subscriber has forgotten it
            failed = (await self._board.errors(its.name)).items
            return "\n".join((str(error), *(f"offset {each.offset}: {escaped(each.reason)}" for each in failed)))
        except CallboardError as error:
            return str(error) if its.name in str(error) else f"{its.name}: {error}"
        return ""


def named(names: object, begin: int) -> tuple[str, ...]:
    """The names of a fleet: as given, or for a number, ``edge-1`` and so on, beginning after ``begin``."""
    is_number = isinstance(names, int) and not isinstance(names, bool)
    rule = whole(1, FLEET_MAX) if is_number else _names
    its = checked(RequestRefused, {"names": rule}, {"names": names})["names"]
    return tuple(f"edge-{begin + number}" for number in range(1, its + 1)) if is_number else its


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, bool) or not isinstance(value, Iterable):
        raise Unfit(value, "a list of names, or how many")
    its: tuple[str, ...] = several(name, FLEET_MAX, least=1)(value)
    if len({*its}) < len(its):
        raise Unfit(its, "names of which none comes twice")
    return its
