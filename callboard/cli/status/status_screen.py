"""The status of a board as one screen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from callboard.board.entities.health.fold_report import FoldReport
from callboard.board.read.status.retention_forecast import RetentionForecast
from callboard.board.read.status.selection import Selection, totals
from callboard.board.views import (
    BoardStatus,
    CohortQueue,
    HeldUp,
    PublisherStatus,
    Remedy,
    SubscriberStatus,
    shown_state,
)
from callboard.cli.status.folds_table import folds_table
from callboard.cli.status.sites_table import sites_table
from callboard.cli.terminal.output import state_text, table, text
from callboard.escaping import escaped
from callboard.units import age, count, size

NONE_YET = "no subscriber has announced itself yet; start one with `callboard run subscriber NAME --into DIR`"

ALL = Selection()
"""All subscribers, those that need intervention first."""

ROWS_MIN = 5
"""Minimum lines of subscribers on a small screen."""
MORE_LINES = 2
"""Lines needed to say that there are more stories."""
NARROW = 72
"""Below this width the table shows only the most important columns, to leave room for the name."""
COLUMNS = ("SUBSCRIBER", "STATE", "<LAG>", "<SIZE>", "<BEHIND>", "<OFFSET>", "<ERRORS>", "<HELD>", "<SEEN>")
NARROW_COLUMNS = (0, 1, 2, 4, 8)

BESIDE_CELLS = 20
"""A command's explanation is written beside it if it has this much room; few words are longer."""


class Screen:
    """Totals, a line for every selected subscriber, those in trouble with their remedies, then the sites of relays, the
    publishers and their cohorts, and the folds.

    ``left`` says who falls out of retention, and when. With ``fit`` it is no higher than the terminal: subscribers in
    trouble get half of it, and what does not fit is counted.
    """

    def __init__(
        self,
        view: BoardStatus,
        left: Iterable[RetentionForecast] = (),
        selection: Selection = ALL,
        folds: Iterable[FoldReport] = (),
        *,
        fit: bool = False,
    ) -> None:
        self._view = view
        self._rows = selection.of(view.subscribers)
        self._publishers = [row for row in view.publishers if row.needs or not selection.needs]
        self._folds = [row for row in folds if row.needs or not selection.needs]
        self._soon = {each.subscriber: each.left_s for each in left if each.soon}
        self._fit = fit
        self._columns: Sequence[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it for a console of this size."""
        self._columns = NARROW_COLUMNS if options.max_width < NARROW else ()
        totals = [totals_line(self._view.subscribers)] if self._view.subscribers else []
        if self._fit and self._view.problem:  # else the command says so on standard error
            totals = [text(f"problem: {self._view.problem}", style="bold red"), *totals]
        stories = [self._story(row) for row in self._rows if row.troubles or row.name in self._soon]
        sites = [row.site for row in self._rows if row.site is not None]
        cohorts: list[RenderableType] = [text(), sites_table(sites)] if sites else []
        cohorts += [text(), _publishers(self._publishers)] if self._publishers else []
        cohorts += [text(), folds_table(self._folds)] if self._folds else []
        notes: list[RenderableType] = []
        for note in self._view.notes:
            notes += [text(), text(f"note: {note}", style="yellow")]
        whole = Group(*totals, self._table(len(self._rows)), *stories, *cohorts, *notes)

        def height(part: RenderableType) -> int:
            return len(console.render_lines(part, options, pad=False))

        room = console.height - 1  # the last line is the cursor's
        if not self._fit or height(whole) <= room:
            yield whole
            return
        room -= height(Group(*totals))
        if (cohort_lines := height(Group(*cohorts))) <= room // 3:
            room -= cohort_lines
        else:
            cohorts = []
        yield from totals
        yield from self._fitted(stories, room, height)
        yield from cohorts

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The width of its widest part."""
        parts = cast("Iterable[RenderableType]", self.__rich_console__(console, options))
        return Measurement.get(console, options, Group(*parts))

    def _fitted(
        self, stories: list[Group], room: int, height: Callable[[RenderableType], int]
    ) -> Iterator[RenderableType]:
        """As many lines and stories as fit; room not needed for stories goes to lines."""
        lines = room if not stories else max(min(ROWS_MIN, room - MORE_LINES), room // 2)
        left, shown = room - height(self._table(self._most_rows(lines, height))), list[Group]()
        for story in stories:
            is_last = len(shown) + 1 == len(stories)
            if height(story) + (0 if is_last else MORE_LINES) > left:
                break
            shown.append(story)
            left -= height(story)
        more = len(stories) - len(shown)
        yield self._table(self._most_rows(room - height(Group(*shown)) - (MORE_LINES if more else 0), height))
        yield from shown
        if more:
            yield text()
            yield text(f"and the details of {more} more: callboard status --needs", style="dim", no_wrap=True)

    def _most_rows(self, room: int, height: Callable[[RenderableType], int]) -> int:
        rows = min(len(self._rows), max(room - 1, 1))
        while rows > 1 and height(self._table(rows)) > room:
            rows -= 1
        return rows

    def _table(self, rows: int) -> RenderableType:
        if not self._view.subscribers:
            return text(NONE_YET)
        if not self._rows:
            return text("none of them matches")
        if more := len(self._rows) - rows:
            return Group(_subscribers(self._rows[:rows], self._columns), text(f"and {more} more", style="dim"))
        return _subscribers(self._rows, self._columns)

    def _story(self, row: SubscriberStatus) -> Group:
        shown = Padding(Group(*_story(row, self._soon.get(row.name))), (0, 0, 0, 2))
        return Group(text(), _heading(row), shown)


def totals_line(rows: Iterable[SubscriberStatus]) -> Text:
    """One line: the number that need intervention, then the number in each state."""
    found = totals(rows)
    head, needing = count(found.pop("subscribers"), "subscriber"), found.pop("needs")
    states = Text(", ").join(text(f"{number} ", state_text(state)) for state, number in found.items())
    return text(head, (f", {needing} in need of attention" if needing else "", "bold"), ": ", states)


def _subscribers(rows: Iterable[SubscriberStatus], columns: Sequence[int] = ()) -> Table:
    shown = columns or range(len(COLUMNS))
    return table((COLUMNS[at] for at in shown), ([subscriber_row(row)[at] for at in shown] for row in rows))


def subscriber_row(row: SubscriberStatus) -> tuple[str | Text, ...]:
    """The values of its columns."""
    return (
        row.name,
        state_text(shown_state(row)),
        _counted(row.lag_packages, row.uncounted) if row.lag_packages >= 0 else "?",
        size(row.lag_bytes) if row.lag_packages > 0 else "",
        age(row.lag_s) if row.lag_packages > 0 and row.lag_s >= 0 else "",
        str(row.offset) if row.offset >= 0 else "",
        f"{row.errors - row.held}{'+' if row.errors_dropped else ''}" if row.errors > row.held else "",
        str(row.held or ""),
        age(row.seen_s),
    )


def _heading(row: SubscriberStatus) -> Text:
    """The name, and the figures about the trouble."""
    facts = [f" for {age(row.since_s)}" if row.liveness == "live" else f", not heard of for {age(row.seen_s)}"]
    if row.attempts:
        retries = f" of {row.max_retries + 1}" if row.max_retries >= 0 else ""
        facts.append(f", attempt {row.attempts}{retries}")
    if row.importing_s:
        facts.append(f", {age(row.importing_s)} into its import")
    if row.liveness == "live" and row.state == "retrying":
        facts.append(f", next try in {age(row.next_try_s)}")
    if not row.counts and row.liveness == "silent":
        facts.append(", nothing waits for it")
    being = " has been " if row.liveness == "live" else " is "
    being += "at a " if shown_state(row) == "gap" else ""
    return text((row.name, "bold"), being, state_text(shown_state(row)), "".join(facts))


def _story(row: SubscriberStatus, left_s: float | None) -> Iterator[RenderableType]:
    shown = " ".join(trouble.what for trouble in row.troubles)
    if row.last_error and row.attempts and row.last_error not in shown:
        yield text(f"last error: {row.last_error}", style="red")
    for trouble in row.troubles:
        yield text(trouble.what)
    if left_s is not None:
        yield text(f"falls out of retention in about {age(left_s)}, at the present rate", style="bold red")
    if remedies := [remedy for trouble in row.troubles for remedy in trouble.remedies]:
        yield _Commands(remedies)


class _Commands:
    """Commands never wrap, so that they can be copied; explanations are beside them, or below if it is narrow."""

    def __init__(self, remedies: Iterable[Remedy]) -> None:
        self._remedies = tuple(remedies)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them for a console of this width."""
        lines = [(text(f"$ {each.command}", style="cyan"), text(each.does, style="dim")) for each in self._remedies]
        if max(command.cell_len for command, _ in lines) + 2 + BESIDE_CELLS <= options.max_width:
            grid = Table.grid(padding=(0, 2, 0, 0))
            grid.add_column(no_wrap=True)
            for line in lines:
                grid.add_row(*line)
            yield grid
            return
        for command, does in lines:
            command.overflow, command.no_wrap = "ignore", True
            yield command
            yield Padding(does, (0, 0, 0, 4))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """The width of the longest command with its explanation."""
        widest = max(cell_len(f"$ {escaped(each.command)}") for each in self._remedies)
        return Measurement(widest, widest + 2 + max(cell_len(escaped(each.does)) for each in self._remedies))


def _publishers(publishers: Iterable[PublisherStatus]) -> Table:
    rows: list[tuple[str | Text, ...]] = []
    for publisher in publishers:
        heading: tuple[str | Text, ...] = (publisher.name, state_text(publisher.state))
        for queue in (publisher.persisted, publisher.published):
            if queue is not None:
                rows.append((*heading, *_cohort(queue)))
                heading = ("", "")
        for each in publisher.held_up:
            why = text(_reason(each), style="yellow")
            rows.append((*heading, text("held up", style="yellow"), "", "", age(each.since_s), why))
            heading = ("", "")
        if publisher.left_out:
            left_out = f"{', '.join(publisher.left_out[:5])}{' ...' if len(publisher.left_out) > 5 else ''}"
            rows.append((*heading, text("left out", style="dim"), "", "", "", text(left_out, style="dim")))
        elif heading[0]:
            rows.append((*heading, "", "", "", "", "no subscriber"))
    return table(("PUBLISHER", "STATE", "COHORT", "<LAG>", "<SIZE>", "<BEHIND>", "SLOWEST"), rows)


def _reason(held_up: HeldUp) -> str:
    wait = f", the first for {age(held_up.delay_s)} more" if held_up.waiting and held_up.delay_s else ""
    requests = f"{count(held_up.waiting, 'request')} {'wait' if held_up.waiting != 1 else 'waits'}{wait}"
    return f"by {held_up.subscriber}, {count(held_up.backlog, 'package')} behind; {requests}"


def _counted(packages: int, uncounted: int) -> str:
    return f"{packages}{'+' if uncounted else ''}"


def _cohort(queue: CohortQueue) -> tuple[str | Text, ...]:
    if not (queue.size or queue.uncounted):
        return queue.name, "0", "", "", f"none of {count(queue.members, 'subscriber')}"
    slowest = f"{queue.straggler} of {count(queue.members, 'subscriber')}"
    if queue.state == "blocked":
        slowest += ", blocked"
    behind = "" if queue.uncounted else age(queue.oldest_s)
    return queue.name, _counted(queue.size, queue.uncounted), size(queue.length), behind, slowest
