"""Gets the entities of a class, and what follows from them."""

from typing import TypeVar

from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections.projection import Projection, Reaction
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.projections.table_rows import fold_of
from callboard.board.connect.folds import EntityOptions
from callboard.board.context import BoardContext
from callboard.board.entities.entities import Entities
from callboard.board.entities.projected import Projected, Reacting
from callboard.door.actors import entities as door
from callboard.door.actors import projections as projections_door
from callboard.messages.event import Event
from callboard.messages.topics import entity_topic

S = TypeVar("S", bound=Entity)
R = TypeVar("R", bound=Event)


def entities(board: BoardContext, entity: type[S], snapshots: str, in_memory: int, runs: bool) -> Entities[S]:
    """See ``Callboard.entities``."""
    topic = entity_topic(door.entity_name(entity), board.settings.prefix)
    its = door.options(snapshots=snapshots, in_memory=in_memory, runs=runs)
    if its["snapshots"]:
        projections_door.check_place(its["snapshots"], board.settings.base)
    board.agents.keep(entity, topic, EntityOptions(**its))
    return Entities(board, entity, topic)


def projection(board: BoardContext, of: type[Projection[R]], into: str) -> Projected[R]:
    """See ``Callboard.projection``."""
    settings = projections_door.projection(of, board.settings.prefix)
    fold_of(settings)
    projections_door.check_place(into, board.settings.base)
    return Projected(board, settings, into)


def reaction(board: BoardContext, of: type[Reaction], into: str) -> Reacting:
    """See ``Callboard.reaction``."""
    settings: ProjectorSettings = projections_door.reaction(of, board.settings.prefix)
    projections_door.check_place(into, board.settings.base)
    return Reacting(board, settings, into)
