"""Projections and reactions: what follows from the events of entities, and of topics of a service's own."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.entities.projections.settings import PROJECTOR, ProjectorSettings

__all__ = ["PROJECTOR", "ProjectorSettings", "actors"]


def actors(settings: ProjectorSettings) -> tuple[ActorSpec, ...]:
    """The actors of the agent of a projection or a reaction."""
    from callboard.actors.entities.projections.projector import Projector

    return (ActorSpec(PROJECTOR, Projector, settings),)
