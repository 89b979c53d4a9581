"""Bugs between the decisions: in shells, worlds, and the way to the log."""

from dataclasses import replace
from typing import Any

from callboard.actors.core.effects import LogRead
from callboard.actors.publisher.intake import batch
from callboard.actors.runtime.running_agent import RunningAgent
from callboard.actors.runtime.shell import Shell
from callboard.actors.worlds.log_world import LogWorld
from callboard.testing.simulation.planted.patch import Patch

SOON_S = 0.5


async def _counts_records(right: Any, self: LogWorld, effect: Any) -> LogRead:
    found: LogRead = await right(self, effect)
    return replace(found, next=effect.start + len(found.records)) if found.records else found


async def _end_last(right: Any, self: LogWorld, effect: Any) -> LogRead:
    """The end of the log is read after the last look, so records appended between the two are skipped."""
    found: LogRead = await right(self, effect)
    if found.records:
        return found
    return replace(found, next=max(effect.start, (await self._bounds(effect.topic)).end))


def _no_introductions(right: Any, self: Shell, role: str, epoch: int, address: Any) -> None:
    """A restarted actor is not introduced to those that knew its predecessor."""
    if role in self._peers:
        known = self._peers[role]
        known.epoch, known.address = max(known.epoch, epoch), address if epoch > known.epoch else known.address
    else:
        right(self, role, epoch, address)


def _no_more_timers(right: Any, self: Shell) -> None:
    """A wake-up drops the timer that expires next, if that is soon."""
    right(self)
    if self._hello is not None:
        for key, _ in self._timers.due(self._hello.site.clock.now().mono_s + SOON_S)[:1]:
            self._timers.set(key, -1, 0.0)


def _no_keys(right: Any, *arguments: Any, **named: Any) -> Any:
    return right(*arguments, **named | {"key": ""})


def _no_blame(*_: Any) -> None:
    """A question is repeated however often its actor crashes at it."""


BUGS = (
    Patch("offsets are counted, not read", LogWorld, "_read", _counts_records),
    Patch("the end of the log is asked for after the last look", LogWorld, "_read", _end_last),
    Patch("peers do not learn of a restart", Shell, "_meet", _no_introductions),
    Patch("a wake-up loses a timer", Shell, "_wake", _no_more_timers),
    Patch("a question is put again however often its actor crashes at it", RunningAgent, "_blame", _no_blame),
    Patch("packages are appended without their key", batch, "new_record", _no_keys),
)
