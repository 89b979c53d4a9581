"""What is being imported, and how far the reading is."""

from collections.abc import Iterator
from dataclasses import replace

from callboard.actors.decision import After, Effect, Moment
from callboard.actors.effects import ImportPackages
from callboard.actors.subscriber.backlog import Backlog
from callboard.messages.mailbox import Report
from callboard.messages.record import Record

SLOW = "slow"
SLOW_S = 300.0
"""An import that takes longer is called slow: packages are made to be imported in seconds."""


class Progress:
    """Follows the imports, and adds to the report what it knows of the one that runs."""

    def __init__(self) -> None:
        self._import: ImportPackages | None = None
        self._appended_ns = 0
        self._started_ns = 0
        self._started_s = 0.0
        self._end: int | None = None  # of the log when the reading began

    def end_is(self, end: int) -> None:
        """The log ends here; what counts is the first time."""
        if self._end is None:
            self._end = end

    def follow(self, effect: Effect, head: Record | None, now: Moment) -> Iterator[Effect]:
        """Pass the effect on, and note it if it begins an import of this head."""
        yield effect
        if isinstance(effect, ImportPackages) and head is not None:
            self._import, self._appended_ns = effect, head.time_ns
            self._started_ns, self._started_s = now.wall_ns, now.mono_s
            yield After(SLOW, SLOW_S)

    def end(self) -> None:
        """The import is over."""
        self._import = None

    def slow(self, now: Moment) -> str:
        """What to say of an import that takes long; empty if none does."""
        if self._import is None or now.mono_s - self._started_s < SLOW_S:
            return ""
        return f"slow: the import of offset {self._import.offset} takes more than {SLOW_S / 60:.0f} minutes"

    def add_to(self, report: Report, backlog: Backlog) -> Report:
        """The report with the package at the head, and with what readiness depends on."""
        head, running = backlog.head, self._import
        message = replace(
            report.announcement,
            head_offset=-1 if head is None else head.offset,
            head_package="" if running is None else running.packages[0].package_id,
            import_started_ns=0 if running is None else self._started_ns,
        )
        return Report(
            announcement=message,
            head_time_ns=0 if running is None else self._appended_ns,
            caught_up=self._end is not None and backlog.reached >= self._end,
        )
