"""The gates that an operator controls: pause, and a speed limit."""

from shlex import quote

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.gates.gate import Wait
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, State

PER_MIN_MAX = 1_000_000
"""Packages per minute: so high that it limits nothing."""


class PauseGate:
    """Holds everything up from the pause command to the resume command."""

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | None:
        """See ``Gate``."""
        return Wait(State.PAUSED, paused(ledger)) if ledger.paused_by else None


def paused(ledger: Ledger) -> str:
    """Who paused it, why, and how to resume; empty while it runs."""
    if not ledger.paused_by:
        return ""
    why = f": {ledger.pause_reason}" if ledger.pause_reason else ""
    return f"paused by {ledger.paused_by}{why}; callboard resume {quote(ledger.subscriber)}"


class ThrottleGate:
    """Lets packages pass at even intervals, at a limit per minute. Retrying one that has passed is free."""

    def __init__(self) -> None:
        self._passed = -1
        self._passed_s = float("-inf")

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | None:
        """See ``Gate``."""
        limit = ledger.throttle_per_min
        wait_s = self._passed_s + 60.0 / limit - now.mono_s if limit > 0 and offset != self._passed else 0.0
        if wait_s > 0:
            reason = f"imports {limit} packages a minute, by command; callboard throttle {quote(ledger.subscriber)} 0"
            return Wait(State.THROTTLED, reason, wait_s)
        if offset != self._passed:
            self._passed, self._passed_s = offset, now.mono_s
        return None
