"""The effect that sends a command to an entity of any class."""

from dataclasses import dataclass
from math import inf

from callboard.actors.core.decision import Perform
from callboard.actors.entities.entity import Entity
from callboard.messages.entities.entity_mail import EntityCommand


@dataclass(frozen=True, slots=True)
class AskEntity(Perform):
    """Result ``EntityOutcome``. Fails if there was no answer in time: then it is to be asked again.

    ``since_s``: the command was sent by nobody before this time, in monotonic seconds; minus infinity if that is not
    known.
    """

    entity: type[Entity]
    command: EntityCommand
    since_s: float = -inf
