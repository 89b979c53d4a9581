"""All entities of a class, by their keys."""

from collections import deque

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.held import WITHIN, Held
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened


class EntityTable:
    """The entities as they are after the commits so far. ``initial`` is the state of a new one."""

    def __init__(self, initial: Entity) -> None:
        self._initial = initial
        self._held: dict[str, Held] = {}
        self._commits: deque[tuple[int, str]] = deque()  # the offsets and keys of those within ``WITHIN``

    def find(self, key: str) -> Held:
        """The entity; a new one if there is none. Do not change it."""
        return self._held.get(key) or Held(self._initial)

    def apply(self, commit: EntityCommitMessage, offset: int) -> None:
        """Apply the commit at this offset, if it counts."""
        held = self.find(commit.key)
        if not held.counts(commit, offset):
            return
        held.apply(commit, map(opened, commit.events), offset)
        self._held[commit.key] = held
        self._commits.append((offset, commit.key))
        while offset - self._commits[0][0] > WITHIN:
            _, key = self._commits.popleft()
            self._held[key].forget(offset)
