"""What goes wrong while an effect is carried out: chosen by the seed, done at one of its calls to a backend."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
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
"""At which call of an effect its fault comes; to look for what is new on the log takes up to five."""

FREQUENT = ("ReadLog", "FindBounds", "Append", "SaveLedger")
RARE = 4.0
"""How much likelier a fault is at any other effect: there are few of them, and they matter as much."""

SLOW_S = 0.8
"""How long a slow call takes at most: longer than timers run that wait for another try, shorter than time-outs."""

HANG_S = 1.0
"""A killed actor's effect is cancelled at once. One that is not cancelled within this time goes on: the kill has hit
the predecessor of its actor, which was dead already, and nobody would ever end the wait."""


@dataclass(slots=True)
class Doom:
    """The fault that one effect meets, and at which of its calls."""

    fault: Fault
    calls: int
    strike: Callable[[], bool]
    """Kills; False if there was nobody to kill."""
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
        """It is time."""
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
"""Of the effect that the running task carries out."""


CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The host of that effect; empty for those who are no part of the simulation."""


async def before_deed(error: type[CallboardError]) -> None:
    """To be awaited by a simulated backend before it does what it was asked."""
    if (doom := CURRENT.get()) is not None:
        await doom.meet(False, error)


async def after_deed(error: type[CallboardError]) -> None:
    """To be awaited by a simulated backend when it has done it."""
    if (doom := CURRENT.get()) is not None:
        await doom.meet(True, error)


@dataclass(slots=True)
class Fates:
    """Decides which effect meets which fault, and counts.

    Args:
        rng: decides.
        odds: of each fault, for one effect; those that are missing never happen.
    """

    rng: Random
    odds: Mapping[Fault, float]
    active: bool = True
    met: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    """How often which kind of effect met which fault."""
    performed: Counter[str] = field(default_factory=Counter)

    def doom(self, effect: Perform, strike: Callable[[Fault], bool]) -> Doom | None:
        """What this effect will meet, if anything. Rolls equally many dice whatever comes of it."""
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
