"""What running jobs have reported: their progress, the ends of their logs, and what they have saved."""

from typing import NamedTuple

from callboard.messages.jobs.limits import LINES_MAX
from callboard.messages.jobs.progress_messages import JobProgress

PAST_MAX = 1000
"""Attempts that have ended whose reports are kept, to be looked at."""


class Report(NamedTuple):
    """What a job has reported on one attempt; ``lines`` are the last of the ``said`` ones."""

    lease: int
    number: int = 0
    steps: int = 0
    step: int = 0
    eta_ms: int = 0
    lines: tuple[str, ...] = ()
    said: int = 0


def report_of(said: JobProgress) -> Report:
    """The report as a message has it."""
    return Report(said.lease, said.number, said.steps, said.step, said.eta_ms, said.lines, said.said)


class Reports:
    """Reports on jobs that are leased, and the last ones on earlier attempts."""

    def __init__(self) -> None:
        self.present: dict[int, Report] = {}
        self.past: dict[int, Report] = {}
        self.saved: dict[int, bytes] = {}
        """What jobs have saved that have not ended."""

    def of(self, job: int) -> Report | None:
        """The report on the present attempt, or on the last one."""
        return self.present.get(job) or self.past.get(job)

    def add(self, said: JobProgress) -> bool:
        """Take in a report on a job that is leased, unless that or a later one is known."""
        known = self.present.get(said.job) or Report(said.lease)
        if said.number <= known.number:
            return False
        lines = (*known.lines, *said.lines)[-LINES_MAX:]
        self.present[said.job] = Report(
            said.lease, said.number, said.steps, said.step, said.eta_ms, lines, max(said.said, len(lines))
        )
        if said.saved:
            self.saved[said.job] = said.saved
        return True

    def released(self, job: int) -> None:
        """The attempt has ended."""
        if (report := self.present.pop(job, None)) is None:
            return
        self.past.pop(job, None)
        self.past[job] = report
        if len(self.past) > PAST_MAX:
            del self.past[next(iter(self.past))]
