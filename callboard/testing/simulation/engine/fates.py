"""Faults of effects: chosen by the seed, triggered at one of the effect's calls to a backend."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from random import Random

from callboard.actors.core.decision import Perform
from callboard.errors import CallboardError


class Fault(StrEnum):
    """What can happen to an effect."""

    KILL_BEFORE = "killed before"
    KILL_INSIDE = "killed inside"
    KILL_AFTER = "killed after"
    PROCESS_LOST = "process lost"
    HOST_LOST = "host lost"
    FAIL = "failed"
    LOSE_ANSWER = "answer lost"
    SLOW = "slow"
    SLOW_ANSWER = "answer late"


INSIDE = (Fault.KILL_INSIDE, Fault.PROCESS_LOST, Fault.HOST_LOST)
BEFORE_DEED = (Fault.FAIL, Fault.SLOW)
AFTER_DEED = (Fault.LOSE_ANSWER, Fault.SLOW_ANSWER)

CALLS = (1, 1, 1, 2, 2, 3, 4, 5)
"""The call of an effect at which its fault may come; looking for new records takes up to five."""

FREQUENT = ("ReadLog", "FindBounds", "Append", "SaveLedger")
RARE = 4.0
"""How much likelier a fault is at any other effect: these are rare, and matter as much."""

SLOW_S = 0.8
"""Longest slow call, in seconds: longer than retry timers, shorter than time-outs."""

HANG_S = 1.0
"""Seconds: a killed actor's effect is cancelled at once. One that is not cancelled within this time continues: the kill
hit a predecessor of its actor that was already dead, and nothing would ever end the wait."""


@dataclass(slots=True)
class Doom:
    """The fault that an effect meets, and at which of its calls."""

    fault: Fault
    calls: int
    strike: Callable[[], bool]
    """Kills; False if there was nothing to kill."""
    slow_s: float
    struck: Callable[[], None]
    spent: bool = False

    async def meet(self, deed_done: bool, error: type[CallboardError]) -> None:
        """Called before and after every call to a backend; may raise ``error``, or not return."""
        fits = self.fault in INSIDE or self.fault in (AFTER_DEED if deed_done else BEFORE_DEED)
        if self.spent or not fits:
            return
        self.calls -= 1
        if self.calls <= 0:
            await self.happen(error)

    async def happen(self, error: type[CallboardError]) -> None:
        """Trigger the fault."""
        self.spent = True
        if self.fault in (Fault.FAIL, Fault.LOSE_ANSWER):
            self.struck()
            raise error("a fault was injected; nothing is wrong")
        if self.fault in (Fault.SLOW, Fault.SLOW_ANSWER):
            self.struck()
            await asyncio.sleep(self.slow_s)
        elif self.strike():
            self.struck()
            await asyncio.sleep(HANG_S)


CURRENT: ContextVar[Doom | None] = ContextVar("doom", default=None)
"""The fault of the effect that the current task carries out."""


CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The host of that effect; empty outside the simulation."""


async def before_deed(error: type[CallboardError]) -> None:
    """Await in a simulated backend before the operation."""
    if (doom := CURRENT.get()) is not None:
        await doom.meet(False, error)


async def after_deed(error: type[CallboardError]) -> None:
    """Await in a simulated backend after the operation."""
    if (doom := CURRENT.get()) is not None:
        await doom.meet(True, error)


@asynccontextmanager
async def deed(error: type[CallboardError]) -> AsyncIterator[None]:
    """Around the operation in a simulated backend."""
    await before_deed(error)
    yield
    await after_deed(error)


@dataclass(slots=True)
class Fates:
    """Decides which effect meets which fault, and counts.

    Args:
        rng: decides.
        odds: of each fault, for one effect; faults that are missing never happen.
    """

    rng: Random
    odds: Mapping[Fault, float]
    active: bool = True
    met: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    """How often each kind of effect met each fault."""
    performed: Counter[str] = field(default_factory=Counter)

    def doom(self, effect: Perform, strike: Callable[[Fault], bool]) -> Doom | None:
        """The fault of this effect, if any. Draws equally many random numbers in every case."""
        kind = type(effect).__name__
        self.performed[kind] += 1
        roll, calls, slow_s = self.rng.random(), self.rng.choice(CALLS), self.rng.uniform(0, SLOW_S)
        if not self.active:
            return None
        for fault, share in self.odds.items():
            roll -= share if kind in FREQUENT else share * RARE
            if roll < 0:
                return Doom(fault, calls, partial(strike, fault), slow_s, partial(self.met.update, [(kind, fault)]))
        return None
