"""Proposes to evict members that are silent, or do not acknowledge the view in time."""

from collections.abc import Iterable
from random import Random

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Send,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.topology.member.barriers import BarrierReading
from callboard.actors.topology.member.roles import RENEWER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.actors.topology.member.suspects import suspects
from callboard.errors import TopicMissing
from callboard.messages.topology.cluster_state import EMPTY
from callboard.messages.topology.control_messages import ProposeMessage
from callboard.messages.topology.member_mail import ClusterNews

PROPOSE = "propose"

RANK_S = 0.2
"""Each member waits this much longer than the one before it in the order, so that usually one proposes."""


class Proposer:
    """Proposes evictions. A proposal is only a trigger: the fold judges the evidence at the proposal's own record.

    Receives: ClusterNews of the view keeper.
    Sends: drafts of a ProposeMessage, to the renewer, with the ends of the streams that were read before.
    Stores: nothing.
    Timers: "propose", 0.2 s for each earlier member that is not suspected itself; ``renew_ms`` between attempts.
    Gives up: nothing; it tries as long as there is evidence. It waits while this member has no standing or reads late.
    """

    def __init__(self, settings: MemberSettings, rng: Random) -> None:
        del rng
        self._settings = settings
        self._news = ClusterNews(version=0, state=EMPTY)
        self._barriers = BarrierReading(settings.streams)
        self._waiting = False  # for the timer
        self._proposing = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        del origin
        match message:
            case ClusterNews():
                self._news = message
                yield from self._wait()
            case Tick("propose"):
                self._barriers.forget()
                self._proposing = self._may_propose(now)
                yield After(PROPOSE, self._settings.renew_ms / 1000)
            case Done() | Failed(error=TopicMissing()):
                self._barriers.take(message)
            case Failed(error=error):
                self._proposing = False
                yield note("barrier.failed", "warning", error=str(error))
            case Stopping():
                yield Stopped()
                return
        if self._proposing:
            yield from self._propose()

    def _wait(self) -> Iterable[Effect]:
        """Start the timer when there is evidence, and stop it when there is none."""
        its, members = self._settings, self._news.state.members
        _, targets = suspects(self._news.state, its.instance)
        if bool(targets) is self._waiting:
            return
        self._waiting = bool(targets)
        waiting = [member.instance for member in members if member.instance not in targets]
        rank = waiting.index(its.instance) if its.instance in waiting else len(waiting)
        yield After(PROPOSE, rank * RANK_S if targets else -1)

    def _may_propose(self, now: Moment) -> bool:
        """Whether this member is one, and reads in time: by the margin at which it would stop acting."""
        news, settings = self._news, self._news.state.settings
        most_ms = settings.lease_ms * self._settings.margin if settings else 0
        return news.standing_until_ms > now.mono_s * 1000 and news.lag_ms <= most_ms

    def _propose(self) -> Iterable[Effect]:
        if self._barriers.found is None:
            yield from self._barriers.read()
            return
        self._proposing = False
        its, state = self._settings, self._news.state
        evidence, targets = suspects(state, its.instance)
        if targets:
            yield note("eviction.proposed", epoch=state.view.epoch, evidence=evidence.name, targets=" ".join(targets))
            yield Send(RENEWER, ProposeMessage(
                **its.by(), base_epoch=state.view.epoch, remove=targets, evidence=evidence,
                barriers=self._barriers.found,
            ))  # fmt: skip
