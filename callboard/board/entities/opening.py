"""Gets the entities of a class, and what follows from them."""

from typing import TYPE_CHECKING, TypeVar

from callboard.board.context import BoardContext
from callboard.messages.event import Event

if TYPE_CHECKING:  # a board without entities does not load these
    from callboard.actors.entities.entity import Entity
    from callboard.actors.entities.projections.projection import Projection, Reaction
    from callboard.board.entities.entities import Entities
    from callboard.board.entities.projected import Projected, Reacting

S = TypeVar("S", bound="Entity")
R = TypeVar("R", bound=Event)


def entities(
    board: BoardContext, entity: "type[S]", *, snapshots: str = "", in_memory: int = 10_000, runs: bool = True
) -> "Entities[S]":
    """The entities of a class, which live on a topic of their own.

    Args:
        board: the open board.
        entity: the class.
        snapshots: where their states are saved, so that the topic is not read from its beginning after a restart:
            ``sqlite:FILE`` or ``postgresql://user@host/database``. Default: nowhere, and all are kept in memory.
        in_memory: with snapshots, the number of entities that are kept in memory.
        runs: whether this board runs the tasks of processes.

    Raises:
        ConfigError: wrong arguments; or other ones than before, for the same class on this board.
    """
    from callboard.board.connect.folds import EntityOptions
    from callboard.board.entities.entities import Entities
    from callboard.door.actors import entities as door
    from callboard.door.actors.projections import check_place
    from callboard.messages.topics import entity_topic

    topic = entity_topic(door.entity_name(entity), board.settings.prefix)
    its = door.options(snapshots=snapshots, in_memory=in_memory, runs=runs)
    if its["snapshots"]:
        check_place(its["snapshots"], board.settings.base)
    board.agents.keep(entity, topic, EntityOptions(**its))
    return Entities(board, entity, topic)


def projection(board: BoardContext, projection: "type[Projection[R]]", *, into: str) -> "Projected[R]":
    """A table that is made of events; not yet started.

    Args:
        board: the open board.
        projection: the class.
        into: ``sqlite:FILE``, which may have other tables, or ``postgresql://user@host/database``.

    Raises:
        ConfigError: wrong arguments.
    """
    from callboard.actors.entities.projections.table_rows import fold_of
    from callboard.board.entities.projected import Projected
    from callboard.door.actors import projections as door

    settings = door.projection(projection, board.settings.prefix)
    fold_of(settings)
    door.check_place(into, board.settings.base)
    return Projected(board, settings, into)


def reaction(board: BoardContext, reaction: "type[Reaction]", *, into: str) -> "Reacting":
    """Commands that follow from events; not yet started. ``into`` is where its place on the topics is kept, as for
    ``projection``. Raises ``ConfigError``.
    """
    from callboard.board.entities.projected import Reacting
    from callboard.door.actors import projections as door

    settings = door.reaction(reaction, board.settings.prefix)
    door.check_place(into, board.settings.base)
    return Reacting(board, settings, into)
