"""The actors of a member agent, which keep one process in a cluster."""

from callboard.actors.core.agent import ActorSpec
from callboard.actors.topology.member import roles
from callboard.actors.topology.member.settings import MemberSettings

__all__ = ["MemberSettings", "actors"]


def actors(settings: MemberSettings) -> tuple[ActorSpec, ...]:
    """The actors of a member agent. Imported lazily, as those of a publisher."""
    from callboard.actors.topology.member.proposer import Proposer
    from callboard.actors.topology.member.renewer import Renewer
    from callboard.actors.topology.member.view_keeper import ViewKeeper

    return (
        ActorSpec(roles.VIEW_KEEPER, ViewKeeper, settings),
        ActorSpec(roles.RENEWER, Renewer, settings),
        ActorSpec(roles.PROPOSER, Proposer, settings),
    )
