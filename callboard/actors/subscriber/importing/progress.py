"""The running import, and the progress of reading."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from callboard.actors.core.decision import After, Moment
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.actors.subscriber.ledger.ledger_state import Decided
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import Histogram

SLOW = "slow"
SLOW_S = 300.0
"""An import that takes longer is called slow: packages are sized to be imported in seconds."""


class Progress:
    """Follows the imports, and adds the running one to the report."""

    def __init__(self) -> None:
        self._import: ImportPackages | None = None
        self._appended_ns = 0
        self._started_ns = 0
        self._started_s = 0.0
        self._end: int | None = None  # of the log when the reading began
        self._began: tuple[float, tuple[int, ...]] | None = None  # of any import, and when its packages were appended
        self._imports: Histogram | None = None
        self._latencies: Histogram | None = None

    def end_is(self, end: int) -> None:
        """Set the end of the log; only the first call counts."""
        if self._end is None:
            self._end = end

    def follow(self, decided: Iterable[Decided], backlog: Backlog, now: Moment) -> Iterator[Decided]:
        """Pass the decided effects on, and note the import of the head that they begin."""
        for each in self.time(decided, backlog, now):
            yield each
            if isinstance(each, ImportPackages) and (head := backlog.head) is not None:
                self._import, self._appended_ns = each, head.time_ns
                self._started_ns, self._started_s = now.wall_ns, now.mono_s
                yield After(SLOW, SLOW_S)

    def time(self, decided: Iterable[Decided], backlog: Backlog, now: Moment) -> Iterator[Decided]:
        """Pass the decided effects on, and time the import that they begin: at the head, or of a held package."""
        for each in decided:
            if isinstance(each, ImportPackages):
                offsets = set(each.offsets)
                self._began = (
                    now.mono_s,
                    tuple(record.time_ns for record in backlog if record.offset in offsets and record.time_ns > 0),
                )
            yield each

    def end(self) -> None:
        """The import has ended."""
        self._import = self._began = None

    def succeed(self, now: Moment) -> None:
        """The import has succeeded. The latency of a held package says nothing."""
        if self._began is not None:
            began_s, appended_ns = self._began
            self._imports = (self._imports or Histogram()).with_one(now.mono_s - began_s)
            for time_ns in appended_ns:
                self._latencies = (self._latencies or Histogram()).with_one((now.wall_ns - time_ns) / 1e9)
        self.end()

    def slow(self, now: Moment) -> str:
        """A message about a slow import; empty if there is none."""
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
            imports=self._imports,
            latencies=self._latencies,
        )
        return Report(
            announcement=message,
            head_time_ns=0 if running is None else self._appended_ns,
            caught_up=self._end is not None and backlog.reached >= self._end,
        )
