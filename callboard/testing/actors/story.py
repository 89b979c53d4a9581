"""What users do, made up by a seed: a story yields commands to entities."""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from random import Random
from typing import Any, get_args

from callboard.actors.entities.entity import Entity
from callboard.door.actors import entities as door
from callboard.door.limits import OFFSET_MAX
from callboard.door.rules import checked, optional, shown, whole
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.event import Event

Command = tuple[type[Entity], str, Event]
"""The class of the entity, its key, and the command to it."""

Story = Callable[[Random], Iterable[Command]]
"""Yields commands; it takes all that differs from seed to seed from the ``Random``."""

COMMANDS_MAX = 10_000
"""Commands of a story; one without an end is cut here."""

RULES = {"seeds": whole(1, 10**9), "seed": optional(whole(0, OFFSET_MAX))}


def chosen(seeds: int, seed: int | None) -> Iterable[int]:
    """All seeds, or the one to run again. Raises ``ConfigError``."""
    its = checked(ConfigError, RULES, {"seeds": seeds, "seed": seed})
    return range(its["seeds"]) if its["seed"] is None else (its["seed"],)


def told(story: Any, seed: int, entities: Collection[type[Entity]] | None = None) -> Iterator[Command]:
    """The commands of the story for this seed. Raises ``ConfigError`` if it yields anything else, or is to others than
    these entities.
    """
    form = "write a story as: def story(random): yield Account, 'alice', Deposit(cents=random.randint(1, 9))"
    if not callable(story):
        raise ConfigError(f"the story is {shown(story)}, which cannot be called; {form}")
    commands = story(Random(seed))  # noqa: S311 - reproducible, not secret
    if not isinstance(commands, Iterable) or isinstance(commands, str):
        raise ConfigError(f"the story returned {shown(commands)}; {form}")
    for number, each in enumerate(islice(commands, COMMANDS_MAX), 1):
        if not isinstance(each, tuple) or len(each) != len(get_args(Command)):
            raise ConfigError(f"command {number} of the story is {shown(each)}; {form}")
        entity, key, command = each
        try:
            door.entity_name(entity)
            if entities is not None and entity not in entities:
                raise ConfigError(f"{entity.__name__} is not among the entities of this simulation; add it")
            its = door.asked(key=key, command=command)
        except (ConfigError, RequestRefused) as error:
            raise ConfigError(f"command {number} of the story is wrong: {error}") from error
        yield entity, its["key"], its["command"]
