"""Bugs in what is between the decisions: shells, worlds, and the way to the log."""

from dataclasses import replace
from typing import Any

from callboard.actors.effects import LogRead
from callboard.actors.publisher import batch
from callboard.actors.runtime.shell import Shell
from callboard.actors.world import AgentWorld
from callboard.testing.simulation.planted.patch import Patch


def _counts_records(right: Any) -> Any:
    async def read(self: AgentWorld, effect: Any) -> LogRead:
        found: LogRead = await right(self, effect)
        return replace(found, next=effect.start + len(found.records)) if found.records else found

    return read


def _end_last(right: Any) -> Any:
    """The end of the log is asked for after the last look, so what is appended between the two is passed over."""

    async def read(self: AgentWorld, effect: Any) -> LogRead:
        found: LogRead = await right(self, effect)
        if found.records:
            return found
        return replace(found, next=max(effect.start, (await self._bounds(effect.topic)).end))

    return read


def _no_introductions(right: Any) -> Any:
    """Whoever starts again is not introduced to those who knew its predecessor."""

    def meet(self: Shell, role: str, epoch: int, address: Any) -> None:
        if role in self._peers:
            known = self._peers[role]
            known.epoch, known.address = max(known.epoch, epoch), address if epoch > known.epoch else known.address
        else:
            right(self, role, epoch, address)

    return meet


def _no_more_timers(right: Any) -> Any:
    """A timer that is set anew runs out when the earlier one would have."""

    def wake(self: Shell) -> None:
        if self._hello is not None and len(self._timers._deadlines) > 1:
            last = max(self._timers._deadlines, key=self._timers._deadlines.__getitem__)
            self._timers.set(last, -1, 0.0)
        right(self)

    return wake


def _no_keys(right: Any) -> Any:
    def new_record(*arguments: Any, **named: Any) -> Any:
        return right(*arguments, **named | {"key": ""})

    return new_record


BUGS = (
    Patch("offsets are counted, not read", AgentWorld, "_read", _counts_records),
    Patch("the end of the log is asked for after the last look", AgentWorld, "_read", _end_last),
    Patch("nobody is told that a peer has started again", Shell, "_meet", _no_introductions),
    Patch("a wake-up loses a timer", Shell, "_wake", _no_more_timers),
    Patch("packages are appended without their key", batch, "new_record", _no_keys),
)
