"""A small world around the fold: members with clocks of their own, a network that loses, delays and repeats messages,
a log whose clock jumps, operators, and a resource that only the leader may write to.

Members sometimes propose to evict a live member: only the fold may prevent that.
"""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from callboard.actors.topology.reducer import step
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    DrainCommand,
    EvictCommand,
    Evidence,
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
    RenewMessage,
    TransferCommand,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.testing.simulation.topology.oracle import Life, Oracle, leader

TICK_MS, RENEW_MS, LEASE_MS, GAP_MS = 100, 2_000, 10_000, 5_000
MARGIN = 0.3
"""A member counts on this much less of its lease than the others grant it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a world is like. ``skew_ms`` is by how much the writers' clocks differ, if they date the records."""

    jumps: bool = False
    skew_ms: int = 0
    evicts: bool = False
    policy: AckPolicy = AckPolicy.EVICT


@dataclass(slots=True)
class Member:
    """A process: what it has read, and how long it may count on its lease by its own clock."""

    instance: str
    rate: float
    skew_ms: int
    life: int = 1
    position: int = 0
    seq: int = 0
    joined: bool = False
    remembers: bool = True
    acked: int = -1
    away_until_ms: int = 0  # paused
    cut_until_ms: int = 0  # isolated
    next_renew_ms: float = 0
    lease_until: float = 0
    sent: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> Life:
        return self.instance, f"{self.instance}{self.life}"

    def by(self) -> dict[str, Any]:
        self.seq += 1
        return {"instance": self.instance, "incarnation": self.name[1], "seq": self.seq}

    def reborn(self, *, remembers: bool) -> None:
        self.life += 1
        self.position, self.seq, self.joined, self.remembers = 0, 0, False, remembers
        self.acked, self.lease_until = -1, 0
        self.sent.clear()


class World:
    """Runs a plan with a seed. The states of the log are folded once; each member has its place among them."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.dice, self.plan, self.now_ms, self.jump_ms = Random(seed), plan, 1_000_000, 0
        self.states, self.events, self.oracle = [EMPTY], list[MemberEvent](), Oracle()
        self.wire: list[tuple[int, int, MemberEvent]] = []  # when it arrives, its writer's skew, what
        self.writes: list[tuple[int, int, int, Life]] = []  # when one arrives, its token, in which reign, by whom
        self.reigns = [0]  # for each state, how often the leader had changed
        self.highest = self.last_reign = -1
        self.owners: dict[int, Life] = {}
        self.accepted = self.rejected = self.overlaps = self.evictions = 0
        self.heard_ms: dict[Life, int] = {}
        skew_ms = plan.skew_ms
        self.members = [
            Member(instance=who, rate=self.dice.uniform(0.9, 1.1), skew_ms=self.dice.randint(-skew_ms, skew_ms))
            for who in "abcdef"[: self.dice.randint(2, 6)]
        ]
        self.seq = 0
        self.command(configure=ClusterSettings(cluster_id="c", ack_policy=plan.policy))

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.now_ms += TICK_MS
            self.meddle()
            self.deliver()
            self.write_arrives()
            believers = [member for member in self.members if self.acts(member)]
            leaders = [member for member in believers if self.believes(member)]
            self.overlaps += len(leaders) > 1
            assert len(leaders) < 2 or self.plan.jumps, "two members believe that they lead"

    # the log and the resource

    def send(self, member: Member, event: MemberEvent) -> None:
        if self.now_ms >= member.cut_until_ms:
            delay_ms = self.dice.choice([0, 20, 50, 300])
            self.wire.append((self.now_ms + delay_ms, member.skew_ms, event))
            if self.dice.random() < (0.3 if isinstance(event, JoinMessage) else 0.05):
                late_ms = self.dice.choice([0, 3_000, 40_000])
                self.wire.append((self.now_ms + delay_ms + late_ms, member.skew_ms, event))

    def command(self, **command: Any) -> None:
        self.seq += 1
        by = {"instance": "ann", "incarnation": "ann1", "seq": self.seq}
        self.append(0, AdminMessage(**by, base=self.state.changed, **command))

    @property
    def state(self) -> ClusterState:
        return self.states[-1]

    def deliver(self) -> None:
        due = [each for each in self.wire if each[0] <= self.now_ms]
        self.wire = [each for each in self.wire if each[0] > self.now_ms]
        for _, skew_ms, event in sorted(due, key=lambda each: each[0]):
            self.append(skew_ms, event)

    def append(self, skew_ms: int, event: MemberEvent) -> None:
        before = self.state
        at = before.offset + self.dice.choice([1, 1, 2, 7]), self.now_ms + self.jump_ms + skew_ms
        after, verdict = step(before, *at, event)
        self.oracle.see(*at, event, after, verdict)
        self.note_evictions(before, after, event)
        self.reigns.append(self.reigns[-1] + (leader(after) != leader(before)))
        if verdict.reason.value != "duplicate":
            self.heard_ms[event.instance, event.incarnation] = self.now_ms
        self.states.append(after)
        self.events.append(event)

    def note_evictions(self, before: ClusterState, after: ClusterState, event: MemberEvent) -> None:
        """By the real time, too, nobody is evicted much before a lease of silence."""
        if isinstance(event, ProposeMessage) and event.evidence is Evidence.SILENT and after.view != before.view:
            now = {member.life for member in after.members}
            for member in before.members:
                if member.life not in now:
                    self.evictions += 1
                    silent_ms = self.now_ms - self.heard_ms[member.life]
                    early_ms = 0 if not (self.plan.jumps or self.plan.skew_ms) else GAP_MS
                    assert self.plan.jumps or silent_ms >= LEASE_MS - early_ms, f"evicted after {silent_ms} ms"

    def write_arrives(self) -> None:
        """The resource keeps the highest token that it has seen."""
        for write in sorted(each for each in self.writes if each[0] <= self.now_ms):
            self.writes.remove(write)
            _, token, reign, by = write
            if token < self.highest:
                self.rejected += 1
                continue
            assert self.owners.setdefault(token, by) == by, "two wrote with one token"
            assert reign >= self.last_reign, "a former leader wrote after a later one"
            self.highest, self.last_reign, self.accepted = token, reign, self.accepted + 1

    # members

    def meddle(self) -> None:
        """Something happens to somebody."""
        dice = self.dice
        member = dice.choice(self.members)
        if dice.random() < 0.006:
            member.away_until_ms = self.now_ms + dice.choice([500, 4_000, 9_000, 25_000])
        if dice.random() < 0.004:
            member.cut_until_ms = self.now_ms + dice.choice([3_000, 12_000, 30_000])
        if dice.random() < 0.002:  # the network parts, and some have no way to the log
            for cut in dice.sample(self.members, len(self.members) // 2):
                cut.cut_until_ms = self.now_ms + dice.choice([12_000, 30_000])
        if dice.random() < 0.003:
            member.reborn(remembers=dice.random() < 0.6)
            member.away_until_ms = self.now_ms + dice.choice([0, 1_000, 15_000])
        if self.plan.jumps and dice.random() < 0.004:
            self.jump_ms += dice.choice([-200_000, -3_000, 3_000, 20_000, 200_000])
        if dice.random() < 0.002:
            commands = [{"transfer": TransferCommand(target=member.instance)},
                        {"drain": DrainCommand(target=member.instance, draining=dice.random() < 0.4)}]  # fmt: skip
            commands += [{"evict": EvictCommand(target=member.instance)}] if self.plan.evicts else []
            self.command(**dice.choice(commands))

    def clock(self, member: Member) -> float:
        return self.now_ms * member.rate

    def acts(self, member: Member) -> bool:
        """The member's turn; returns whether it is awake."""
        if self.now_ms < member.away_until_ms:
            return False
        if self.now_ms >= member.cut_until_ms:
            self.reads(member)
        state = self.states[member.position]
        if self.believes(member) and self.dice.random() < 0.3:
            delay_ms = self.dice.choice([0, 100, 2_000, 15_000])
            reign = self.reigns[member.position]
            self.writes.append((self.now_ms + delay_ms, state.view.leader_epoch, reign, member.name))
        if member.joined:
            self.says(member, state)
        elif self.clock(member) >= member.next_renew_ms:
            self.joins(member, state)
        return True

    def reads(self, member: Member) -> None:
        """Some of what is new, always in order."""
        until = min(len(self.states) - 1, member.position + self.dice.choice([1, 5, 50, 500]))
        while member.position < until:
            event, member.position = self.events[member.position], member.position + 1
            state = self.states[member.position]
            listed = any(each.life == member.name for each in state.members)
            if (event.instance, event.incarnation) == member.name and listed:
                sent = member.sent.pop(event.seq, -1.0)
                member.lease_until = max(member.lease_until, sent + LEASE_MS * (1 - MARGIN))
            if member.joined and not listed:
                member.reborn(remembers=True)  # it was evicted
                return
            member.joined = listed

    def joins(self, member: Member, state: ClusterState) -> None:
        member.next_renew_ms = self.clock(member) + RENEW_MS
        live = state.member(member.instance)
        previous = live.incarnation if live and member.remembers and live.incarnation != member.name[1] else ""
        if state.settings is None or previous == f"{member.instance}{member.life}":
            return
        by = member.by()
        self.send(member, JoinMessage(**by, read_to=state.offset, previous=previous, priority=member.life % 2))

    def says(self, member: Member, state: ClusterState) -> None:
        dice, view = self.dice, state.view
        if self.clock(member) >= member.next_renew_ms:
            member.next_renew_ms = self.clock(member) + RENEW_MS
            by = member.by()
            member.sent[by["seq"]] = self.clock(member)
            self.send(member, RenewMessage(**by, read_to=state.offset))
        if member.acked != view.epoch and dice.random() < 0.3:
            member.acked = view.epoch
            self.send(member, AckMessage(**member.by(), epoch=view.epoch, state_hash=view.state_hash))
        if member.acked == view.epoch and view.settled != view.epoch and dice.random() < 0.02:
            member.acked = -1  # its word may be lost: it says it again
        if dice.random() < 0.0005:
            self.send(member, LeaveMessage(**member.by()))
            member.reborn(remembers=True)  # one that leaves stops acting at once, even if its message is lost
            return
        if dice.random() < 0.05:
            self.proposes(member, state)

    def proposes(self, member: Member, state: ClusterState) -> None:
        """Those that are silent or mute, or, rashly, anybody."""
        others = [each for each in state.members if each.instance != member.instance]
        if not others:
            return
        now_ms = state.clock.now_ms
        silent = [each.instance for each in others if now_ms - each.heard_ms >= LEASE_MS]
        mute = [each.instance for each in others if each.acked != state.view.epoch]
        evidence, remove = Evidence.SILENT, silent
        if not silent and state.view.settled != state.view.epoch:
            evidence, remove = Evidence.NO_ACK, mute
        if not remove or self.dice.random() < 0.2:
            remove = [self.dice.choice(others).instance]
        elif self.dice.random() < 0.5:
            remove = [self.dice.choice(remove)]
        said = ProposeMessage(**member.by(), base_epoch=state.view.epoch, remove=tuple(remove), evidence=evidence)
        self.send(member, said)

    def believes(self, member: Member) -> bool:
        """Whether the member holds itself to be the leader: by its view, which is settled, and by its lease."""
        state = self.states[member.position]
        settled = state.view.settled == state.view.epoch
        return settled and leader(state) == member.name and self.clock(member) < member.lease_until


CALM, JUMPY = Plan(), Plan(jumps=True, evicts=True)
PLANS = {
    "calm": CALM,
    "jumps of the log's clock, and evictions by command": JUMPY,
    "writers whose clocks differ": Plan(skew_ms=4_000),
    "settled without the mute": replace(CALM, policy=AckPolicy.PROCEED),
    "settled never without the mute": replace(CALM, policy=AckPolicy.WAIT),
}


def first_failure(plan: Plan, seeds: range, ticks: int) -> tuple[int, str] | None:
    """The first seed that breaks something, and what."""
    for seed in seeds:
        try:
            World(seed, plan).run(ticks)
        except AssertionError as error:
            return seed, str(error)
    return None
