"""The status of a board as one screen."""

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from callboard.app.outlook import Outlook
from callboard.app.views import BoardStatus, FarmQueue, HeldUp, PublisherStatus, Remedy, SubscriberStatus
from callboard.cli.output import age, count, size, state_text, table

NOBODY = "no subscriber was ever heard of; start one with `callboard run subscriber NAME --into DIR`"

BESIDE_CELLS = 20
"""What a command does is written beside it if it has so much room, which few words exceed."""


def draw(view: BoardStatus, left: Iterable[Outlook] = ()) -> Group:
    """Every subscriber in a line, then those in trouble with what helps, then the publishers and their farms.

    ``left`` says who falls out of retention, and when.
    """
    parts: list[RenderableType] = [_subscribers(view.subscribers) if view.subscribers else Text(NOBODY)]
    soon = {each.subscriber: each.left_s for each in left if each.soon}
    for row in view.subscribers:
        if row.troubles or row.name in soon:
            parts += [Text(), _heading(row), Padding(Group(*_story(row, soon.get(row.name))), (0, 0, 0, 2))]
    if view.publishers:
        parts += [Text(), _publishers(view.publishers)]
    for note in view.notes:
        parts += [Text(), Text(f"note: {note}", "yellow")]
    return Group(*parts)


def _subscribers(rows: Iterable[SubscriberStatus]) -> Table:
    return table(
        ("SUBSCRIBER", "STATE", "<LAG>", "<SIZE>", "<BEHIND>", "<OFFSET>", "<ERRORS>", "<HELD>", "<SEEN>"),
        (
            (
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
            for row in rows
        ),
    )


def shown_state(row: SubscriberStatus) -> str:
    """What it says it is, as long as it is heard of."""
    return row.state if row.liveness == "live" else row.liveness


def _heading(row: SubscriberStatus) -> Text:
    """The name, and figures that belong to the trouble."""
    facts = [f" for {age(row.since_s)}" if row.liveness == "live" else f", not heard of for {age(row.seen_s)}"]
    if row.attempts:
        retries = f" of {row.max_retries + 1}" if row.max_retries >= 0 else ""
        facts.append(f", attempt {row.attempts}{retries}")
    if row.importing_s:
        facts.append(f", {age(row.importing_s)} into its import")
    if row.liveness == "live" and row.state == "retrying":
        facts.append(f", next try in {age(row.next_try_s)}")
    if not row.counts and row.liveness == "silent":
        facts.append(", waited for by nobody")
    being = " has been " if row.liveness == "live" else " is "
    being += "at a " if shown_state(row) == "gap" else ""
    return Text.assemble((row.name, "bold"), being, state_text(shown_state(row)), "".join(facts))


def _story(row: SubscriberStatus, left_s: float | None) -> Iterator[RenderableType]:
    told = " ".join(trouble.what for trouble in row.troubles)
    if row.last_error and row.attempts and row.last_error not in told:
        yield Text(f"last error: {row.last_error}", "red")
    for trouble in row.troubles:
        yield Text(trouble.what)
    if left_s is not None:
        yield Text(f"falls out of retention in about {age(left_s)}, at the present rate", "bold red")
    if remedies := [remedy for trouble in row.troubles for remedy in trouble.remedies]:
        yield _Commands(remedies)


class _Commands:
    """Commands never wrap, so that they can be copied; what they do stands beside them, or below where it is narrow."""

    def __init__(self, remedies: Iterable[Remedy]) -> None:
        self._remedies = tuple(remedies)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them for a console of this width."""
        lines = [(Text(f"$ {each.command}", "cyan", no_wrap=True), Text(each.does, "dim")) for each in self._remedies]
        if max(command.cell_len for command, _ in lines) + 2 + BESIDE_CELLS <= options.max_width:
            grid = Table.grid(padding=(0, 2, 0, 0))
            grid.add_column(no_wrap=True)
            for line in lines:
                grid.add_row(*line)
            yield grid
            return
        for command, does in lines:
            command.overflow = "ignore"
            yield command
            yield Padding(does, (0, 0, 0, 4))


def _publishers(publishers: Iterable[PublisherStatus]) -> Table:
    rows: list[tuple[str | Text, ...]] = []
    for publisher in publishers:
        heading: tuple[str | Text, ...] = (publisher.name, state_text(publisher.state))
        for queue in (publisher.persisted, publisher.published):
            if queue is not None:
                rows.append((*heading, *_farm(queue)))
                heading = ("", "")
        for each in publisher.held_up:
            rows.append((*heading, Text("held up", "yellow"), "", "", age(each.since_s), Text(_reason(each), "yellow")))
            heading = ("", "")
        if publisher.left_out:
            left_out = f"{', '.join(publisher.left_out[:5])}{' ...' if len(publisher.left_out) > 5 else ''}"
            rows.append((*heading, Text("left out", "dim"), "", "", "", Text(left_out, "dim")))
        elif heading[0]:
            rows.append((*heading, "", "", "", "", "no subscriber"))
    return table(("PUBLISHER", "STATE", "FARM", "<LAG>", "<SIZE>", "<BEHIND>", "SLOWEST"), rows)


def _reason(held_up: HeldUp) -> str:
    wait = f", the first for {age(held_up.delay_s)} more" if held_up.waiting and held_up.delay_s else ""
    requests = f"{count(held_up.waiting, 'request')} {'wait' if held_up.waiting != 1 else 'waits'}{wait}"
    return f"by {held_up.subscriber}, {count(held_up.backlog, 'package')} behind; {requests}"


def _counted(packages: int, uncounted: int) -> str:
    return f"{packages}{'+' if uncounted else ''}"


def _farm(queue: FarmQueue) -> tuple[str | Text, ...]:
    if not (queue.size or queue.uncounted):
        return queue.name, "0", "", "", f"none of {count(queue.members, 'subscriber')}"
    slowest = f"{queue.straggler} of {count(queue.members, 'subscriber')}"
    if queue.state == "blocked":
        slowest += ", blocked"
    behind = "" if queue.uncounted else age(queue.oldest_s)
    return queue.name, _counted(queue.size, queue.uncounted), size(queue.length), behind, slowest
