"""The settings of the agent of a projection or a reaction."""

from dataclasses import dataclass

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections.projection import Projection, Reaction
from callboard.messages.event import Event

PROJECTOR = "projector"
"""The role of the only actor."""


@dataclass(frozen=True, slots=True)
class ProjectorSettings:
    """The class, what its rows are, its topics, and who asks.

    Attributes:
        of: the class.
        row: the class of its rows; None for a reaction.
        topics: its topics, each with the class of its entities, or None.
        name: for display.
        instance: who runs it.
        announce: the topic on which it is announced how far it is; empty for none.
    """

    of: type[Projection[Event]] | type[Reaction]
    row: type[Event] | None
    topics: tuple[tuple[str, type[Entity] | None], ...]
    name: str
    instance: str = ""
    announce: str = ""
