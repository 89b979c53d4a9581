"""What ``callboard top`` shows, drawn for a terminal of any size: a line for each subscriber and each queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from callboard.cli.jobs.listing import queue_row
from callboard.cli.status.status_screen import NONE_YET, subscriber_row, totals_line
from callboard.cli.terminal.output import table, text
from callboard.cli.top.reading import Reading
from callboard.units import count

KEYS = "q quits, f shows only the fleet, j only the jobs, space pauses"
FLEET = ("SUBSCRIBER", "STATE", "<LAG>", "<BEHIND>", "<A MINUTE>", "<ERRORS>", "<HELD>", "<SEEN>")
JOBS = ("QUEUE", "<QUEUED>", "<ACTIVE>", "<PARKED>", "<ENDED>", "<A MINUTE>", "STATE", "TOPICS")


@dataclass(frozen=True, slots=True)
class Frame:
    """The fleet and the jobs by a reading, if there is one; since ``away_s`` the board cannot be read: ``problem``.

    ``only`` is "fleet" or "jobs", or empty for both. With ``fit`` it is no higher than the terminal: what does not fit
    is counted.
    """

    log: str
    its: Reading | None
    rates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    problem: str = ""
    away_s: float = 0.0
    only: str = ""
    paused: bool = False
    fit: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it for a console of this size."""
        head, foot = Group(*self._head()), Group(*[_cut(text(KEYS, style="dim"))] * self.fit)
        room = console.height - len(console.render_lines(Group(head, foot), options, pad=False))
        yield head
        if self.its is not None:
            yield from self._body(self.its, room if self.fit else 1 << 30)
        yield foot

    def _head(self) -> Iterator[Text]:
        when = f"as of {_clock(self.its.wall_s)}" if self.its else "not read yet"
        paused = ("   paused" if self.paused else "", "bold yellow")
        yield _cut(text(("callboard top", "bold"), f"   {self.log}   {when}", paused))
        if self.away_s:
            yield text(f"cannot be read since {_clock(self.away_s)}: {self.problem}", style="bold red")

    def _body(self, its: Reading, room: int) -> Iterator[RenderableType]:
        jobs = room
        if self.only != "jobs":
            wanted = len(its.queues) + 3 if (its.queues or its.workers) and not self.only else 0
            jobs = min(wanted, max(room - len(its.status.subscribers) - 2, room // 2))
            yield from self._fleet(its, room - jobs)
        if jobs:
            yield from self._jobs(its, jobs)

    def _fleet(self, its: Reading, room: int) -> Iterator[RenderableType]:
        """Those first that need somebody, then those furthest behind."""
        rows = sorted(its.status.subscribers, key=lambda row: (not row.needs, -row.lag_packages, row.name))
        lines = list[Sequence[str | Text]]()
        for name, state, lag, _, behind, _, *others in map(subscriber_row, rows):
            lines.append((name, state, lag, behind, self._rate("fleet", str(name)), *others))
        yield _cut(totals_line(rows)) if rows else text(NONE_YET)
        yield from _listed(FLEET, lines, room - 1)

    def _jobs(self, its: Reading, room: int) -> Iterator[RenderableType]:
        """Those queues first in which most is left to do."""
        live = [each for each in its.workers if each.live]
        busy, slots = sum(each.running for each in live), sum(each.slots for each in live)
        dead = f", {len(its.workers) - len(live)} dead" if len(its.workers) > len(live) else ""
        rows = sorted(its.queues, key=lambda queue: (-queue.queued - queue.active, queue.name))
        lines = [(*row[:5], self._rate("jobs", row[0]), *row[5:]) for row in map(queue_row, rows)]
        yield text()
        yield _cut(text(f"{count(len(live), 'worker')}, {busy} of {count(slots, 'slot')} busy", (dead, "bold red")))
        yield from _listed(JOBS, lines, room - 2)

    def _rate(self, sort: str, name: str) -> str:
        return f"{rate:.0f}" if (rate := self.rates.get((sort, name))) is not None else ""


def _listed(columns: Sequence[str], lines: Sequence[Sequence[str | Text]], room: int) -> Iterator[RenderableType]:
    """A table with the lines that fit, and the number of the others."""
    shown = lines if len(lines) < room else lines[: max(room - 2, 1)]
    if shown:
        cells = ((_cut(each if isinstance(each, Text) else text(each)) for each in line) for line in shown)
        made = table(columns, cells)
        for column in made.columns:
            column.header = _cut(text(str(column.header)))
        yield made
    if more := len(lines) - len(shown):
        yield text(f"and {more} more", style="dim")


def _cut(line: Text) -> Text:
    """On one line, cut if it is too long."""
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _clock(wall_s: float) -> str:
    return f"{datetime.fromtimestamp(wall_s, UTC):%H:%M:%S} UTC"
