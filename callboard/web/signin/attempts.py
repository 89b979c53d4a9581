"""How often a name, or an address, has failed to sign in, and how long it has to wait for that."""

import time
from collections.abc import Callable

FREE = 5
"""Failures before one has to wait: people mistype, and forget which password it was."""

WAIT_MAX_S = 60.0
"""It doubles from 1 s up to this. Anybody can have a name wait by failing under it, so it is no longer."""

FORGET_S = 900.0
KEYS_MAX = 10_000
"""Names and addresses remembered; beyond that, those that failed longest ago are forgotten."""


class Attempts:
    """Counts attempts as failures until they succeed, so that many at once do not get past the limit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[tuple[str, str], tuple[int, float]] = {}

    def begin(self, name: str, address: str) -> float:
        """Count an attempt. Unless it may go on at once, it does not count: returns after how many seconds it may."""
        now, keys = self._clock(), self._keys(name, address)
        wait_s = max(self._due_s(key, now) - now for key in keys)
        if wait_s <= 0:
            for key in keys:
                self._set(key, self._count(key, now) + 1, now)
        return max(wait_s, 0.0)

    def succeeded(self, name: str, address: str) -> None:
        """It was none: the name begins again. Of the address, other attempts stay counted: they were of other names."""
        mine, its = self._keys(name, address)
        self._failed.pop(mine, None)
        if (count := self._count(its, self._clock())) > 1:
            self._set(its, count - 1, self._failed[its][1])
        else:
            self._failed.pop(its, None)

    def _keys(self, name: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
        return ("name", name), ("address", address)

    def _count(self, key: tuple[str, str], now: float) -> int:
        count, last_s = self._failed.get(key, (0, now))
        return count if now - last_s < FORGET_S else 0

    def _due_s(self, key: tuple[str, str], now: float) -> float:
        over = self._count(key, now) - FREE
        return self._failed[key][1] + min(2.0**over, WAIT_MAX_S) if over >= 0 else now

    def _set(self, key: tuple[str, str], count: int, last_s: float) -> None:
        self._failed.pop(key, None)
        self._failed[key] = count, last_s  # at the end
        while len(self._failed) > KEYS_MAX:
            del self._failed[next(iter(self._failed))]
