"""``callboard replay``: shows how an entity, or a row of a projection, came to be what it is."""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callboard.actors.entities.processes.process import At, Task
from callboard.actors.entities.projections.projection import Projection
from callboard.board.connect.functions.imported import imported
from callboard.board.entities.replay.replayed import Replayed, replayed_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.output import say, show, show_json, show_table
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.bounds import clipped
from callboard.units import age, count

if TYPE_CHECKING:
    from rich.text import Text

    from callboard.board.board import Callboard

TEXT_CHARS_MAX = 1000
"""Of a state, or of the events of a commit, in a table; ``--json`` has all of them."""


@dataclass(slots=True)
class Shown:
    """The last steps, how many came before them, and why it ended early."""

    steps: deque[Replayed]
    left_out: int = 0
    problem: str = ""
    topics: set[str] = field(default_factory=set)

    def add(self, step: Replayed) -> None:
        """Take a step; drop the oldest one if there is no room."""
        self.left_out += len(self.steps) == self.steps.maxlen
        self.steps.append(step)
        self.topics.add(step.topic)


def replay(
    options: BoardOptions,
    where: Annotated[
        str,
        typer.Argument(metavar="MODULE:CLASS", help="An Entity, a Process or a Projection.", show_default=False),
    ],
    key: Annotated[str, typer.Argument(metavar="KEY", help="Of the entity, or of the row.", show_default=False)],
    start: Annotated[int, typer.Option("--from", metavar="OFFSET", min=0, help="Begin with this offset.")] = 0,
    to: Annotated[int | None, typer.Option(metavar="OFFSET", min=0, help="End with this offset.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many, the last ones.")] = 100,
    json: Json = False,
) -> None:
    """Show how an entity, or a row of a projection, came to be: each commit or event, and the state after it."""
    of = imported(where, options.load().base, "the class at")

    async def work(board: "Callboard") -> Shown:
        found = Shown(deque(maxlen=limit))
        try:
            async for step in board.replay(of, key, start=start, to=to):
                found.add(step)
        except (SchemaTooNew, Undecodable) as error:
            found.problem = str(error)
        return found

    found = on_board(options, work)
    if json:
        steps = [replayed_data(each) for each in found.steps]
        show_json({"key": key, "steps": steps, "left_out": found.left_out, "problem": found.problem})
    else:
        _show(found, of)
    if found.problem:
        say(f"the next event cannot be replayed: {found.problem}")
        raise typer.Exit(FOUND)


def _show(found: Shown, of: type[Any]) -> None:
    if found.left_out:
        show(f"{count(found.left_out, 'step')} before these; --limit shows more", "")
    if not found.steps:
        show("nothing in this range")
    elif issubclass(of, Projection):
        topic = ("TOPIC",) if len(found.topics) > 1 else ()
        rows = ((*((its.topic,) if topic else ()), *_row(its)) for its in found.steps)
        show_table((*topic, "<OFFSET>", "AGE", "KEY", "EVENT", "ROW"), rows)
    else:
        tasks = any(its.tasks or its.problem for its in found.steps)
        columns = ("<OFFSET>", "AGE", "<VERSION>", "COMMAND", "EVENTS", "STATE", *(("TASKS",) if tasks else ()))
        show_table(columns, (_commit(its)[: len(columns)] for its in found.steps))


def _row(its: Replayed) -> "tuple[str | Text, ...]":
    return str(its.offset), _age(its), its.key, _texts(its.events), _state(its, "no row")


def _commit(its: Replayed) -> "tuple[str | Text, ...]":
    refused = f"refused{f' ({its.code})' if its.code else ''}: {its.refusal}"
    events = refused if its.refusal else _texts(its.events) or "nothing changed"
    tasks = its.problem or ", ".join(map(_task, its.tasks))
    state = _state(its, "does not exist")
    return str(its.offset), _age(its), str(its.version), its.command_id, _clip(events), state, _clip(tasks)


def _age(its: Replayed) -> str:
    return age((time.time_ns() - its.time_ns) / 1e9)


def _texts(values: tuple[Any, ...]) -> str:
    return _clip(", ".join(map(repr, values)))


def _state(its: Replayed, none: str) -> str:
    return none if its.state is None else _clip(repr(its.state))


def _task(task: Task) -> str:
    if isinstance(task, At):
        left_s = (task.time_ns - time.time_ns()) / 1e9
        return f"{task.name}: {task.command!r} {f'in {age(left_s)}' if left_s > 0 else f'since {age(-left_s)}'}"
    return f"{task.name}: {task.command!r} to {task.entity.__name__} {task.key}"


def _clip(text: str) -> str:
    return clipped(text, TEXT_CHARS_MAX)
