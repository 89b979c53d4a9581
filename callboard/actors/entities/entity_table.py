"""The entities of a class that are in memory, by their keys."""

from collections import deque

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.held import WITHIN, Held
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened


class EntityTable:
    """The entities as they are after the commits so far. ``initial`` is the state of a new one.

    ``held`` has those that changed last at its end.
    """

    def __init__(self, initial: Entity) -> None:
        self._initial = initial
        self.held: dict[str, Held] = {}
        self._commits: deque[tuple[int, str]] = deque()  # the offsets and keys of those within ``WITHIN``

    def find(self, key: str) -> Held:
        """The entity; a new one if there is none. Do not change it."""
        return self.held.get(key) or Held(self._initial)

    def apply(self, commit: EntityCommitMessage, offset: int, after: Held | None = None) -> Held | None:
        """Apply the commit at this offset, and return its entity, if it counts. ``after`` is the entity with it, if
        that is known.
        """
        held = self.find(commit.key)
        if not held.counts(commit, offset):
            return None
        held.apply(commit, map(opened, commit.events), offset, after)
        self.held.pop(commit.key, None)
        self.held[commit.key] = held
        self._commits.append((offset, commit.key))
        while self._commits[0][0] < offset - WITHIN:
            _, key = self._commits.popleft()
            if (its := self.held.get(key)) is not None:
                its.forget(offset)
        return held
