"""Whether a subscriber may serve: it becomes ready once, and stays so."""

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import State

TRIES = 10
"""Failures of one package after which it is no longer waited for: old content is better than none."""

IDLE, LATENCY, RETRIES, FORCED = "idle", "latency", "retries", "forced"

STANDING = (State.BLOCKED, State.PAUSED, State.STAGED)
"""States that last until someone acts, which must not keep the instance out of service."""


class Readiness:
    """The first of four conditions makes the subscriber ready.

    * idle: everything on the log at the start is processed, and nothing came for ``ready_idle_s``;
    * latency: it imports a package appended less than ``ready_max_age_s`` ago. On a busy log no other condition
      applies, since it is never idle. A package from the future shows that clocks differ, so it counts only up to the
      same bound, and a wrong clock cannot make a subscriber ready, nor keep it from becoming so;
    * retries: the package at the head failed more than ten times, or the queue is blocked, paused or staged for
      ``ready_idle_s``;
    * forced: ``ready_force_s`` have passed since it started, or since it got the name that it stood by for, by the
      monotonic clock.
    """

    def __init__(self, settings: SubscriberSettings) -> None:
        self._settings = settings
        self._began_s: float | None = None
        self._report: Report | None = None
        self._still: str = ""  # idle or retries: the reason if nothing moves
        self._still_s = 0.0
        self.reason = settings.ready_reason
        """The condition that made it ready; empty until then."""

    def begin(self, now: Moment) -> None:
        """Start the clock."""
        if self._began_s is None:
            self._began_s = now.mono_s

    def observe(self, report: Report, now: Moment) -> None:
        """Handle the importer's report."""
        self._report = report
        state = report.announcement.state
        still = RETRIES if state in STANDING else IDLE if state is State.IDLE and report.caught_up else ""
        if still != self._still:
            self._still, self._still_s = still, now.mono_s

    def check(self, now: Moment) -> bool:
        """Check the conditions; True if it has become ready just now."""
        if self.reason or self._began_s is None:
            return False
        self.reason = self._find_out(self._began_s, now)
        return bool(self.reason)

    def wait_s(self, now: Moment) -> float | None:
        """Seconds after which to check again without a report; None if not needed."""
        if self.reason or self._began_s is None:
            return None
        due_s = self._began_s + self._settings.ready_force_s
        if self._still:
            due_s = min(due_s, self._since_s() + self._settings.ready_idle_s)
        return max(0.0, due_s - now.mono_s)

    def pending_reason(self) -> str:
        """Why it is not ready yet."""
        settings = self._settings
        if self._still:
            return f"not yet: {self._still} for less than {settings.ready_idle_s:g} s"
        if self._report is not None and self._report.head_time_ns:
            return f"not yet: it imports packages older than {settings.ready_max_age_s:g} s"
        return "not yet: it is starting"

    def _find_out(self, began_s: float, now: Moment) -> str:
        if self._still and now.mono_s - self._since_s() >= self._settings.ready_idle_s:
            return self._still
        if self._report is not None:
            head_ns = self._report.head_time_ns
            if head_ns and abs(now.wall_ns - head_ns) < self._settings.ready_max_age_s * 1e9:
                return LATENCY
            if self._report.announcement.attempts > TRIES:
                return RETRIES
        return FORCED if now.mono_s - began_s >= self._settings.ready_force_s else ""

    def _since_s(self) -> float:
        return max(self._still_s, self._began_s or 0.0)
