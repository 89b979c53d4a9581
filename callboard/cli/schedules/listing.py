"""``callboard schedules list`` and ``next``: show schedules and their ticks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.board.jobs.schedules.schedule_state import ScheduleState
from callboard.board.jobs.wording import on_clocks, rule_words
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show_list, show_result

if TYPE_CHECKING:
    from callboard.board.board import Callboard

ScheduleName = Annotated[str, typer.Argument(metavar="NAME", help="Of the schedule.", show_default=False)]


def list_schedules(
    options: BoardOptions,
    topic: Annotated[str | None, typer.Option(metavar="PATTERN", help="Only for these topics.")] = None,
    json: Json = False,
) -> None:
    """List the schedules by name; runs without a name."""
    found = on_board(options, lambda board: board.jobs.schedules(topic))
    none = "no such schedule" if topic else "no schedule is set"
    show_list(found, ("NAME", "RULE", "NEXT", "LAST", "TOPIC", "STATE"), _row, none=none, json=json)


def _row(its: ScheduleState) -> Iterable[str]:
    state = its.problem or ("suspended" if its.suspended else "")
    ticks = (on_clocks(ms, its.zone) for ms in (its.next_ms, its.last_ms))
    return its.name, rule_words(its), *ticks, its.job.topic, state


def next_ticks(
    options: BoardOptions,
    name: ScheduleName,
    limit: Annotated[int, typer.Argument(metavar="[N]", min=1, max=1000, help="How many.")] = 5,
    json: Json = False,
) -> None:
    """Show when the next ticks of a schedule are."""

    async def work(board: "Callboard") -> tuple[tuple[int, ...], dict[str, str]]:
        return await board.jobs.next_ticks(name, limit), {each.name: each.zone for each in await board.jobs.schedules()}

    ticks, zones = on_board(options, work)
    lines = [on_clocks(each, zones.get(name, "UTC")) for each in ticks] or [f"{name} is suspended"]
    show_result(ticks, *lines, json=json)
