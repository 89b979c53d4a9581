"""Entities: state that is the sum of the events on a topic, and commands that add to these."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.entities import roles
from callboard.actors.entities.settings import EntitySettings

__all__ = ["EntitySettings", "actors"]


def actors(settings: EntitySettings) -> tuple[ActorSpec, ...]:
    """The actors of the agent that keeps the entities of a class."""
    from callboard.actors.entities.keeper import Keeper

    return (ActorSpec(roles.KEEPER, Keeper, settings),)
