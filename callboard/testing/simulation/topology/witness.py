"""What must hold in a cluster at every moment: on its log, among its members, and at what its leaders write to."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from callboard.actors.topology.reducer import NS_PER_MS, step
from callboard.actors.topology.verdict import Reason, Verdict
from callboard.backends.fence import Fence, Token
from callboard.board.member.topology_view import TopologyView
from callboard.errors import CallboardError
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, AgreedView, ClusterState
from callboard.messages.topology.control_messages import (
    AdminMessage,
    Evidence,
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
    RenewMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import ClusterNews
from callboard.messages.topology.reading import read
from callboard.testing.simulation.topology.audience import Audience, Parting
from callboard.testing.simulation.topology.broken_rule import must
from callboard.testing.simulation.topology.cluster import Cluster, Member
from callboard.testing.simulation.topology.oracle import Life, Oracle, leader, lives
from callboard.testing.simulation.topology.plan import Configuration

LOOK_S = 0.1
"""Virtual seconds between two looks."""

Shown = tuple[AgreedView, tuple[Life, ...]]
"""A view as members compute it, but for what changes within an epoch; and its members in their order."""


@dataclass(frozen=True, slots=True, order=True)
class Write:
    """A leader's write on its way: when it arrives, in which of the log's reigns it was sent, its token, by whom."""

    at_s: float
    reign: tuple[int, int]
    log_id: str
    epoch: int
    by: Life


class Resource:
    """What leaders write to, once with a fence and once without."""

    def __init__(self, count: Counter[str]) -> None:
        self.count, self.fence = count, Fence()
        self._fenced = self._unfenced = -1, -1  # the last reign that wrote
        self._owners: dict[tuple[str, int], Life] = {}

    def take(self, write: Write) -> None:
        """A write arrives."""
        self.count["writes out of order, not fenced"] += write.reign < self._unfenced
        self._unfenced = max(self._unfenced, write.reign)
        try:
            self.fence.admit(Token(write.log_id, write.epoch))
        except CallboardError:
            self.count["writes refused"] += 1
            return
        owner = self._owners.setdefault((write.log_id, write.epoch), write.by)
        must(owner == write.by, "a token is of one leader", f"{write.by} and {owner} wrote at {write.epoch}")
        rule = "no former leader writes after its successor"
        must(write.reign >= self._fenced, rule, f"{write.by} wrote at epoch {write.epoch}")
        self._fenced = write.reign
        self.count["writes accepted"] += 1


class Witness:
    """Looks at everything ten times a second."""

    def __init__(self, cluster: Cluster, its: Configuration, rng: Random) -> None:
        self.cluster, self.its, self.rng = cluster, its, rng
        self.count = Counter[str]()
        self.resource, self.audience = Resource(self.count), Audience(self.count)
        self._viewed: dict[Life, TopologyView] = {}
        self._compared: dict[Life, ClusterNews] = {}
        self.troubled: dict[str, float] = {}
        """Of each instance, until when its messages may be late."""
        self.slow: dict[str, float] = {}
        """Of each instance, until when its appends may take seconds."""
        self.hanging: dict[Life, float] = {}
        """Services that hang, and since when."""
        self._writes: list[Write] = []
        self._logs = 0
        self.views: dict[tuple[str, int], tuple[Shown, int]] = {}  # of each log and epoch, and its reign
        self._heard_s: dict[Life, float] = {}
        self.begin("original")

    def begin(self, log_id: str) -> None:
        """The log is another one from now on."""
        self.log_id, self.state = log_id, EMPTY
        self._oracle = Oracle(unbounded=self.its.without == "gaps count in full")
        self._logs += 1
        self._lease_ms = 0  # the longest so far
        self._reign = 0
        self._said: dict[tuple[Life, int], bytes] = {}

    def replaced(self, log_id: str) -> None:
        """The log was replaced, and the operator let only its leaders write from now on."""
        self.begin(log_id)
        self.resource.fence = Fence(Token(log_id, -1))
        self.look(is_copy=True)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.cluster.simulation.loop.time()

    def look(self, *, is_copy: bool = False) -> None:
        """Check everything since the last look."""
        for record in self.cluster.records(self.state.offset):
            self._see(record, is_copy)
        if self.audience.broken:
            raise self.audience.broken[0]
        must(not self.cluster.errors, "no service crashes", self.cluster.errors)
        for member in self.cluster.started:
            self._compare(member)
            self._views_end_once(member)
        self._leaders()
        for write in sorted(each for each in self._writes if each.at_s <= self.now_s):
            self._writes.remove(write)
            self.resource.take(write)

    # The log.

    def _see(self, record: Record, is_copy: bool) -> None:
        before, event, time_ms = self.state, read(record), record.time_ns // NS_PER_MS
        self.state, verdict = step(before, record.offset, time_ms, event)
        self._oracle.see(record.offset, time_ms, event, self.state, verdict)
        if isinstance(event, MemberEvent):
            life = event.instance, event.incarnation
            is_new = verdict.reason is not Reason.DUPLICATE
            self._count(event, verdict)
            if is_new and not is_copy:
                self._evictions(before, event)
                self._partings(before, event)
            if verdict.accepted and not is_copy:
                self._hangs(life, event)
            refused = isinstance(event, JoinMessage | LeaveMessage) and not verdict.accepted
            if not (refused or isinstance(event, AdminMessage)):  # said before it is a member, it may be said again
                said = self._said.setdefault((life, event.seq), record.payload)
                must(said == record.payload, "no two messages of a life have one number", f"{event.seq} of {life}")
            if is_new:
                self._heard_s[life] = self.now_s
        self._reign += leader(self.state) != leader(before)
        if self.state.settings is not None:
            self._lease_ms = max(self._lease_ms, self.state.settings.lease_ms)
        if self.state.view.epoch != before.view.epoch:
            self.count["views"] += 1
            self.views[self.log_id, self.state.view.epoch] = _shown(self.state), self._reign

    def _count(self, event: MemberEvent, verdict: Verdict) -> None:
        if not verdict.accepted:
            self.count[verdict.reason.value] += 1
            return
        self.count[type(event).__name__] += 1
        for command in event.commands if isinstance(event, AdminMessage) else ():
            self.count[type(command).__name__] += 1

    def _evictions(self, before: ClusterState, event: MemberEvent) -> None:
        """Nobody is evicted within its lease by the real time, either; but for one gap, if the log's time is bad."""
        gone = lives(before) - lives(self.state)
        if not (isinstance(event, ProposeMessage) and gone and before.settings):
            return
        self.count[f"evicted: {event.evidence.name.lower()}"] += len(gone)
        early_s = before.settings.gap_ms / 1000 if self.its.skew_s else LOOK_S + 0.01
        for life in gone:
            silent_s = self.now_s - self._heard_s.get(life, 0.0)
            due_s = before.settings.lease_ms / 1000 - early_s
            if event.evidence is Evidence.NO_ACK and self.now_s > self.troubled.get(life[0], 0.0):
                asked_s = [each.acknowledges_for_s(before.view.epoch) for each in self.cluster.started
                           if each.settings.life == life]  # fmt: skip
                rule = "a member that acknowledges, and reaches the log, is not evicted"
                must(max(asked_s, default=0.0) < ACKED_S, rule, f"{life} asked for {asked_s} s")
            if event.evidence is Evidence.SILENT and not (self.its.jumps or self.its.exchanges):
                must(silent_s >= due_s, "nobody is evicted within its lease", f"{life} after {silent_s:.1f} s")

    def _partings(self, before: ClusterState, event: MemberEvent) -> None:
        """Note what departed members wrote. Commands and members of others do not say where that ends, nor does a slow
        append; who does not acknowledge, or is silent by the log's clock alone, goes on. Degraded views do not wait.
        """
        silent = isinstance(event, ProposeMessage) and event.evidence is Evidence.SILENT
        slow = any(each.world.append_s for each in self.cluster.members if each.settings.instance == event.instance)
        waits = self.its.policy is not AckPolicy.PROCEED
        counted = (silent or isinstance(event, JoinMessage | LeaveMessage)) and waits and not slow
        if not (counted and self.its.is_punctual and event.instance in self.cluster.instances):
            return
        for life in lives(before) - lives(self.state):
            written = tuple(self.audience.written.get(life, ()))
            self.audience.partings[self.log_id, life] = Parting(self.state.offset, written)

    def _hangs(self, life: Life, event: MemberEvent) -> None:
        since_s = self.hanging.get(life, self.now_s)
        if isinstance(event, RenewMessage):
            rule = "a member whose service hangs is not renewed"
            most_s = PULSE_S + (SLOW_S if self.now_s < self.slow.get(life[0], 0.0) else 0.0)
            must(self.now_s - since_s < most_s, rule, f"{life} after {self.now_s - since_s:.1f} s")

    # The members.

    def _compare(self, member: Member) -> None:
        news, life = member.news, member.settings.life
        if self._compared.get(life) is news:
            return
        self._compared[life] = news
        self._counts(member)
        if (known := self.views.get((news.log_id, news.state.view.epoch))) is not None:
            shown = _shown(news.state)
            must(shown == known[0], "views of one epoch are equal", f"{life} has {shown} and not {known[0]}")
        elif news.log_id == self.log_id:
            must(news.state.view.epoch < 0, "members have no views but the log's", f"{life} {news.state.view}")

    def _counts(self, member: Member) -> None:
        """A member counts on its lease from when it sent a message, so not from later than that was on the log."""
        news, life = member.news, member.settings.life
        if self.its.without or news.log_id != self.log_id or not news.standing_until_ms:
            return
        until_s = self._heard_s.get(life, 0.0) * member.rate + self._lease_ms / 1000 * COUNTED
        rule = "a member counts on its lease from its last record"
        must(
            news.standing_until_ms / 1000 <= until_s + 0.01, rule, f"{life} to {news.standing_until_ms}, not {until_s}"
        )

    def _views_end_once(self, member: Member) -> None:
        """A view that is over is never current again, and names no leader; before the first, there is only oneself."""
        view, life = member.listening.view, member.settings.life
        before, self._viewed[life] = self._viewed.get(life), view
        over = before is not None and not before.is_current
        must(not (over and before is view and view.is_current), "a view ends once", life)
        must(view.is_current or view.leader is None, "a view that is over names no leader", life)
        if view.epoch < 0:
            must(not view.is_current and len(view.instances) == 1, "before the first view there is only oneself", life)

    def _leaders(self) -> None:
        current = {member.listening.view.leader.instance: member.settings.life for member in self.cluster.started
                   if member.stands and member.listening.view.leader is not None}  # fmt: skip
        rule = "no two current views have different leaders"
        must(len(current) < 2 or not self.its.is_recommended, rule, current)
        believe = [member for member in self.cluster.started if member.leads]
        if len(believe) > 1:
            self.count["two leaders"] += 1
            names = [member.settings.incarnation for member in believe]
            must(not self.its.is_recommended, "no two members lead at one time", names)
        for member in believe:
            if self.rng.random() < 0.3:
                self._write(member)
        for member in self.cluster.started:
            if member.settings.streams and member.stands and self.rng.random() < WRITES:
                member.write()

    def _write(self, member: Member) -> None:
        news, delay_s = member.news, self.rng.choice([0.0, 0.1, 2.0, 15.0])
        known = self.views.get((news.log_id, news.state.view.epoch))
        if known is not None:
            reign, epoch = (self._log_number(news.log_id), known[1]), news.state.view.leader_epoch
            self._writes.append(Write(self.now_s + delay_s, reign, news.log_id, epoch, member.settings.life))

    def _log_number(self, log_id: str) -> int:
        return self._logs if log_id == self.log_id else self._logs - 1

    def is_agreed(self, alive: Iterable[Member]) -> bool:
        """Whether these are all members, their view is settled, and all of them know it."""
        here = list(alive)
        view = self.state.view
        return (
            lives(self.state) == {each.settings.life for each in here}
            and view.settled == view.epoch
            and all(each.stands and each.is_settled and each.state.view.epoch == view.epoch for each in here)
            and sum(each.leads for each in here) == 1
            and all(hearing.has_heard(view.epoch) for each in here for hearing in each.hearings)
        )


WRITES = 0.02
"""How likely a member writes to the stream at a look."""

ACKED_S = 5.0
"""Within which an acknowledgement is on the log."""

PULSE_S, SLOW_S = 7.0, 8.0
"""The pulse counts for 5 s of a slow clock; an append may take up to 8 s."""

COUNTED = 0.7
"""The share of its lease that a member counts on."""


def _shown(state: ClusterState) -> Shown:
    view = state.view
    same = AgreedView(
        leader=view.leader, leader_epoch=view.leader_epoch, epoch=view.epoch, epoch_ms=view.epoch_ms,
        state_hash=view.state_hash, barriers=view.barriers,
    )  # fmt: skip
    return same, tuple(member.life for member in state.members)
