"""Gets the entities of a class."""

from typing import TypeVar

from callboard.actors.entities.entity import Entity
from callboard.board.context import BoardContext
from callboard.board.entities.entities import Entities
from callboard.door.entities import entity_name
from callboard.messages.topics import entity_topic

S = TypeVar("S", bound=Entity)


def entities(board: BoardContext, entity: type[S]) -> Entities[S]:
    """The entities of a class. Raises ``ConfigError`` if it is none, or its name is too long for a topic."""
    return Entities(board, entity, entity_topic(entity_name(entity), board.settings.prefix))
