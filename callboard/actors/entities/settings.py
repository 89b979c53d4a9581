"""The settings of the agent that keeps the entities of a class."""

from dataclasses import dataclass

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Process
from callboard.messages.declared.registry import declaration_of

HELD_MAX = 10_000
"""Entities in memory, if there is a store for the others."""


@dataclass(frozen=True, slots=True)
class EntitySettings:
    """The class of the entities, their topic, and who appends.

    With ``is_stored``, snapshots are kept in a store, at the latest after ``save_s`` seconds, and ``held_max`` entities
    in memory, beside those that changed since they were saved. With ``runs``, the tasks of processes are carried out.
    How far it is, is announced on the topic ``announce``, if there is one.
    """

    entity: type[Entity]
    topic: str
    instance: str
    is_stored: bool = False
    held_max: int = HELD_MAX
    runs: bool = False
    save_s: float = 5.0
    announce: str = ""

    @property
    def names(self) -> tuple[str, str, str]:
        """The kind, the name and the instance, for announcements."""
        its = declaration_of(self.entity)
        kind = "process" if issubclass(self.entity, Process) else "entities"
        return kind, its.name if its else self.entity.__name__, self.instance
