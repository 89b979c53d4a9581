"""What the services of an example do: the stories of its simulation, with keys that many seeds can use."""

from dataclasses import fields
from random import Random
from typing import Any, NamedTuple

from callboard.actors import Entity, Event, Process
from callboard.messages.event import replaced
from tests.examples.worlds import WORLDS, stock

SERVICES = 3

DEADLINES_S = {1: 1, 10: 2, 600: 4}
"""Seconds to pay, here and in the simulation, where time costs nothing."""


class Sent(NamedTuple):
    """A command of a story, with its id."""

    id: str
    entity: type[Entity]
    key: str
    command: Event


def commands(example: str, seed: int) -> list[Sent]:
    """The commands of a seed. As many seeds as there are services have the same accounts or shelves, so that they meet
    there; transfers and orders are those of one seed.
    """
    story = WORLDS[example]["story"](Random(seed))
    shared = f"{seed // SERVICES} "
    return [
        Sent(
            f"{example}/{seed}/{number}", entity,
            f"{seed} {key}" if issubclass(entity, Process) else shared + key, _changed(command, shared),
        )
        for number, (entity, key, command) in enumerate(story)
    ]  # fmt: skip


def command(unique: str) -> Sent:
    """The command with this id."""
    example, seed, number = unique.split("/")
    return commands(example, int(seed))[int(number)]


def _changed(its: Event, shared: str) -> Event:
    """All texts of the commands are keys of what is shared."""
    given = {each.name: getattr(its, each.name) for each in fields(its)}
    changes: dict[str, Any] = {name: shared + value for name, value in given.items() if isinstance(value, str)}
    if isinstance(its, stock.Place):
        changes["pay_within_s"] = DEADLINES_S[its.pay_within_s]
    return replaced(its, **changes)
