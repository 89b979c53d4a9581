"""How long to wait before the next attempt.

Reads and writes of the log wait as in ``RETRY`` unless their module says otherwise; imports and hooks as in
``SubscriberSettings.retry``. Restarts of actors that died are in ``runtime/supervision.py``.
"""

from dataclasses import dataclass
from random import Random

_EXPONENT_MAX = 64
"""Far above any exponent that reaches ``max_s``; keeps the power from overflowing after days of failures."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays growing by ``factor`` from ``first_s`` to ``max_s`` seconds, spread by ``jitter`` (a share).

    The jitter keeps a fleet that lost the same server from returning to it in the same instant.
    """

    first_s: float
    max_s: float
    factor: float = 2.0
    jitter: float = 0.2

    def delay_s(self, attempt: int, rng: Random) -> float:
        """Seconds to wait after failed attempt number ``attempt``, counted from 1; never above ``max_s``."""
        exponent = min(attempt - 1, _EXPONENT_MAX)
        delay = min(self.first_s * self.factor**exponent, self.max_s)
        return min(delay * rng.uniform(1 - self.jitter, 1 + self.jitter), self.max_s)


RETRY = Backoff(first_s=0.1, max_s=5.0)
"""Between attempts to read or write the log."""
