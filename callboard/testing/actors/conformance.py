"""Checks that the code of entities does what everything else relies on."""

from collections import deque
from random import Random

from callboard.actors.entities.entity import Entity
from callboard.door.actors.entities import entity_name
from callboard.errors import ConfigError
from callboard.testing.actors.given import NOW, ns_of
from callboard.testing.actors.rehearsal import Rehearsal, shown
from callboard.testing.actors.story import Story, chosen, told

HISTORY = 12
"""Commands to an entity that are shown when it fails: what led to it fits on a screen."""

PAUSES_S = (0, 0, 0, 1, 60, 86_400, -1)
"""Between two commands: the clock of the next process may be behind."""


def check_entity(entity: type[Entity], story: Story, *, seeds: int = 200, seed: int | None = None) -> None:
    """Check that the entities of a class can be kept on a log, in the states that a story leads to.

    ``decide`` and ``evolve`` must be pure: no clock, no randomness, nothing remembered, nothing changed, the same
    result for the same input. ``evolve`` must accept what ``decide`` allowed. All events, applied once more, or to
    states that were stored in between, must lead to the same state.

    Args:
        entity: the class.
        story: yields commands, from a ``Random`` of the seed; those to other classes are left out.
        seeds: how many; the first is 0.
        seed: run only this one, again.

    Raises:
        ConfigError: wrong arguments, or no seed has a command to the class.
        AssertionError: a rule is broken. The message has the seed, and what led to it.
    """
    entity_name(entity)
    if not sum(_check(entity, story, each) for each in chosen(seeds, seed)):
        raise ConfigError(f"no seed has a command to {entity.__name__}; let the story yield some, or run more seeds")


def _check(entity: type[Entity], story: Story, seed: int) -> int:
    """The number of commands."""
    kept: dict[str, Rehearsal] = {}
    now_ns, many = ns_of(NOW), 0
    history = deque[str](maxlen=HISTORY)
    pauses = Random(f"{seed} pauses")  # noqa: S311 - reproducible, not secret
    try:
        for its, key, command in told(story, seed):
            if its is not entity:
                continue
            many += 1
            now_ns += pauses.choice(PAUSES_S) * 10**9
            history.append(f"{key!r}: {shown(command)}")
            answer = kept.setdefault(key, Rehearsal(entity, key)).carry_out(command, now_ns)
            history[-1] += f" -> {answer}"
        for rehearsal in kept.values():
            rehearsal.replay()
    except AssertionError as error:
        led = "".join(f"\n  {each}" for each in history)
        raise AssertionError(f"{error}\nseed {seed} led to it by:{led}\nrun it again with seed={seed}") from error
    return many
