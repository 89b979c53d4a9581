"""The settings of the agent that keeps the entities of a class."""

from dataclasses import dataclass

from callboard.actors.entities.entity import Entity


@dataclass(frozen=True, slots=True)
class EntitySettings:
    """The class of the entities, their topic, and who appends."""

    entity: type[Entity]
    topic: str
    instance: str
