"""One incarnation of a member: its agent, and the questions to it."""

from typing import Self

from callboard.actors.core.agent import Agent
from callboard.actors.topology.cluster_view import ClusterView, Instance, view_of
from callboard.actors.topology.member import MemberSettings, roles
from callboard.board.context import BoardContext
from callboard.board.member.options import MemberPlan
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import ClusterMember, Health
from callboard.messages.topology.member_mail import (
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    MemberProblem,
    PropertiesChanged,
    WatchCluster,
)

ANSWER_S = 30.0
"""Seconds for an answer; the log may have to come back first."""


class Incarnation:
    """A running member agent. It renews its lease only as long as the service asks for news."""

    def __init__(self, settings: MemberSettings, agent: Agent) -> None:
        self.settings, self.agent = settings, agent

    @classmethod
    async def begin(
        cls, board: BoardContext, plan: MemberPlan, instance: str, properties: Pairs, previous: str = ""
    ) -> Self:
        """Start the agent of a new incarnation."""
        settings = MemberSettings(
            topic=control_topic(board.settings.prefix),
            instance=instance,
            incarnation=board.new_id(),
            founding=plan.founding,
            previous=previous,
            priority=plan.priority,
            tags=plan.tags,
            properties=properties,
            streams=plan.streams,
            renew_ms=plan.renew_ms,
            margin=plan.margin,
            pulse_ms=plan.founding.lease_ms // 2,
        )
        return cls(settings, await board.agents.member(settings))

    async def watch(self, after: int, health: Health, load_permille: int) -> ClusterNews:
        """The news after this version, or the present state after an interval of renewals."""
        asked = WatchCluster(after=after, wait_ms=self.settings.renew_ms, health=health, load_permille=load_permille)
        return await self.agent.ask(roles.VIEW_KEEPER, asked, ANSWER_S)

    async def acknowledge(self, epoch: int) -> None:
        """Acknowledge the view; returns when that is read back."""
        await self.agent.ask(roles.RENEWER, AcknowledgeView(epoch=epoch), ANSWER_S)

    async def change_properties(self, put: Pairs, unset: tuple[str, ...]) -> PropertiesChanged:
        """Change the properties; returns when that is read back."""
        return await self.agent.ask(roles.RENEWER, ChangeProperties(set=put, unset=unset), ANSWER_S)

    async def leave(self, reason: str, timeout_s: float) -> None:
        """Leave the cluster; returns when that is read back."""
        await self.agent.ask(roles.RENEWER, LeaveCluster(reason=reason), timeout_s)

    def view(self, news: ClusterNews) -> ClusterView | None:
        """The view of the cluster; None as long as this incarnation is not a member."""
        seen = view_of(news.state, news.log_id, self.settings.life)
        return seen if seen is not None and seen.local is not None else None

    def member(self, news: ClusterNews) -> ClusterMember | None:
        """This incarnation, if it is a member."""
        found = news.state.member(self.settings.instance)
        return found if found is not None and found.life == self.settings.life else None


def problem_of(news: ClusterNews) -> MemberProblem | None:
    """The problem that ends this incarnation, if any."""
    problem = MemberProblem(news.problem) if news.problem else None
    return problem if problem is not None and problem.is_final else None


def alone(plan: MemberPlan, instance: str, incarnation: str, properties: Pairs) -> ClusterView:
    """The view before the first agreement: the own instance, which does not lead."""
    own = Instance(
        instance=instance,
        incarnation=incarnation,
        is_leader=False,
        is_local=True,
        join_offset=-1,
        priority=plan.priority,
        tags=frozenset(plan.tags),
        properties=dict(properties),
        draining=False,
        suspected_by=(),
        silent_ms=0,
        health=Health.GOOD,
        load_permille=0,
    )
    return ClusterView(
        cluster_id=plan.founding.cluster_id, log_id="", epoch=-1, leader_epoch=-1, instances=(own,), settled=False,
        degraded=False, frozen=False,
    )  # fmt: skip
