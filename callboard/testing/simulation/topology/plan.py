"""The plan of a seed: a cluster, and what happens to it. A plan can be shortened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from callboard.actors.topology.member.roles import PROPOSER, RENEWER, VIEW_KEEPER
from callboard.messages.topology.cluster_state import AckPolicy
from callboard.testing.simulation.engine.outcome import Planned
from callboard.testing.simulation.topology.acts import (
    Act,
    Command,
    Configure,
    Crash,
    CutOff,
    Describe,
    Exchange,
    Freeze,
    Hang,
    Jump,
    Kill,
    Leave,
    Mute,
    Outage,
    Pause,
    Repeat,
    Rotate,
    Slow,
    ToMember,
    Twin,
    Unlink,
)

CHAOS_S = 60.0
"""Virtual seconds in which things happen; afterwards all is calm."""

ACTS = (4, 24)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What kind of cluster it is.

    ``jumps``, ``exchanges`` and ``evicts`` are whether the log's clock jumps, the log is replaced, and operators evict
    members. ``skew_s`` is by how much the clocks of the hosts differ, if the log goes by them. ``without`` is the
    planted bug that takes away a safeguard: what remains must still keep former leaders from writing.
    """

    policy: AckPolicy = AckPolicy.EVICT
    jumps: bool = False
    exchanges: bool = False
    evicts: bool = False
    skew_s: float = 0.0
    without: str = ""

    @property
    def is_recommended(self) -> bool:
        """Whether no two members may believe at one time that they lead. Elsewhere the fence must suffice."""
        return self.is_punctual and not self.evicts

    @property
    def is_punctual(self) -> bool:
        """Whether a member that the log shows silent for a lease has been."""
        return not (self.jumps or self.exchanges or self.skew_s or self.without)


CONFIGURATIONS = {
    "recommended": Configuration(),
    "a view settles without the mute": Configuration(AckPolicy.PROCEED),
    "a view waits for the mute": Configuration(AckPolicy.WAIT),
    "operators evict": Configuration(evicts=True),
    "the log's clock jumps": Configuration(jumps=True),
    "writers' clocks differ": Configuration(skew_s=4.0),
    "the log is replaced": Configuration(exchanges=True),
    "jumps count in full": Configuration(jumps=True, without="gaps count in full"),
    "members go by the view alone": Configuration(without="the lease has no end"),
    "leaders wait for no one": Configuration(without="a leader does not wait until its view is settled"),
}
SHARES = (8, 1, 1, 1, 1, 1, 1, 1, 1, 1)
"""Of each configuration, among the seeds."""


@dataclass(frozen=True, slots=True)
class PlannedMember:
    """A member: its clock runs at ``rate``, and is off by ``skew_s``."""

    instance: str
    rate: float
    skew_s: float
    priority: int


@dataclass(frozen=True)
class ClusterPlan(Planned):
    """A cluster, and what happens to it. ``snapshot_every`` is how often the leader takes a snapshot, in offsets;
    ``hasty`` is whether there is a member that proposes to evict anybody; ``streams`` is what members write to.
    ``others`` are other clusters, and ``links`` connect instances: one that calls, and one that is called.
    """

    acts: tuple[Act, ...]
    called: str = field(kw_only=True)
    members: tuple[PlannedMember, ...] = field(kw_only=True)
    snapshot_every: int = field(kw_only=True)
    hasty: bool = field(kw_only=True)
    streams: tuple[str, ...] = field(kw_only=True)
    others: tuple[tuple[PlannedMember, ...], ...] = field(kw_only=True)
    links: tuple[tuple[str, str], ...] = field(kw_only=True)

    program: ClassVar[str] = "callboard simulate --clusters"

    @property
    def configuration(self) -> Configuration:
        """The kind of cluster."""
        return CONFIGURATIONS[self.called]

    def whole(self) -> "ClusterPlan":
        """See ``Planned``."""
        return plan(self.seed)


def plan(seed: int) -> ClusterPlan:
    """The plan of a seed."""
    rng = Random(f"cluster/{seed}")  # noqa: S311  # reproducible, not secret
    (called,) = rng.choices(list(CONFIGURATIONS), SHARES)
    its = CONFIGURATIONS[called]
    members = tuple(
        PlannedMember(name, rng.uniform(0.9, 1.1), rng.uniform(-its.skew_s, its.skew_s), rng.choice([0, 0, 1]))
        for name in "abcdef"[: rng.choice([2, 3, 3, 4, 5, 6])]
    )
    kinds = KINDS + (JUMPS if its.jumps else ()) + (EVICTS if its.evicts else ())
    acts: list[Act] = []
    for _ in range(rng.randint(*ACTS)):
        at_s, instance = rng.uniform(0, CHAOS_S), rng.choice(members).instance
        acts += rng.choice(kinds)(rng, at_s, instance)
    if rng.random() < PARTITIONS:  # the network parts, and some have no way to the log
        at_s, seconds = rng.uniform(0, CHAOS_S), rng.choice([12.0, 30.0])
        acts += [CutOff(at_s, each.instance, seconds) for each in rng.sample(members, len(members) // 2)]
    back = [act for act in acts if isinstance(act, Jump) and act.seconds < 0]
    acts = [act for act in acts if act not in back[1:]]  # after a second one the lease clock may stop for long
    if its.exchanges:
        acts.append(Exchange(rng.uniform(20.0, CHAOS_S), rng.choice([1.0, 0.9, 0.5])))
    twins = Random(f"twins/{seed}")  # noqa: S311  # of its own, so that all else stays as it is
    if twins.random() < TWINS:
        acts.append(Twin(twins.uniform(0, CHAOS_S), twins.choice(members).instance))
    others, links, more = _connected(seed, members)
    acts += more
    snapshot_every = 1000 if its.exchanges else rng.choice([60, 1000, 1000])
    return ClusterPlan(
        seed, tuple(sorted(acts, key=lambda act: act.at_s)), {}, called=called, members=members,
        snapshot_every=snapshot_every, hasty=rng.random() < HASTY,
        others=others, links=links, streams=(STREAM,) if not its.exchanges and rng.random() < STREAMS else (),
    )  # fmt: skip


def _connected(
    seed: int, members: tuple[PlannedMember, ...]
) -> tuple[tuple[tuple[PlannedMember, ...], ...], tuple[tuple[str, str], ...], list[Act]]:
    """Other clusters, links, and what happens to both."""
    rng = Random(f"connector/{seed}")  # noqa: S311  # of its own, so that all else stays as it is
    if rng.random() >= CONNECTED:
        return (), (), []
    names = [[f"{letter}{number}" for number in range(rng.choice([1, 2, 3]))] for letter in rng.choice(["g", "gr"])]
    others = tuple(tuple(PlannedMember(name, rng.uniform(0.9, 1.1), 0.0, 0) for name in each) for each in names)
    gates = [rng.sample(each, min(len(each), rng.choice([1, 1, 2]))) for each in (members, *others)]
    links = _graph(rng, [each.instance for some in gates for each in some])
    acts: list[Act] = [Rotate(rng.uniform(0, CHAOS_S / 2))]
    for _ in range(rng.randint(2, 8)):
        at_s, who = rng.uniform(0, CHAOS_S), rng.choice([each for some in others for each in some]).instance
        acts.append(Unlink(rng.uniform(0, CHAOS_S), rng.choice(links), rng.choice([4.0, 15.0, 30.0, None])))
        acts += [act for act in rng.choice(KINDS)(rng, at_s, who) if isinstance(act, ToMember)]
    return others, links, acts


def _graph(rng: Random, names: list[str]) -> tuple[tuple[str, str], ...]:
    """A chain, star, tree or loop, and at times one link more. Members of one cluster may be linked."""
    shape = rng.choice(["chain", "star", "tree", "loop"])
    before = [{"star": 0, "tree": rng.randrange(index)}.get(shape, index - 1) for index in range(1, len(names))]
    pairs = [(names[index], name) for index, name in zip(before, names[1:], strict=True)]
    pairs += [(names[-1], names[0])] if shape == "loop" else []
    pairs += rng.choice([[], [], [(rng.choice(names[:-1]), names[-1])]])
    return tuple({frozenset(pair): rng.choice([pair, pair[::-1]]) for pair in pairs}.values())


PARTITIONS = 0.3
"""The share of seeds in which half of the members lose the log at once."""

CONNECTED = 0.25
"""The share of seeds with several clusters."""

TWINS = 0.2
"""The share of seeds in which two processes have one id."""

HASTY = 0.4
"""The share of seeds with a hasty member."""

STREAM = "callboard.data"

STREAMS = 0.5
"""The share of seeds in which members write to a stream, which is read before a view without one is acknowledged."""

Kind = Callable[[Random, float, str], list[Act]]


def _crash(rng: Random, at_s: float, who: str) -> list[Act]:
    return [Crash(at_s, who, rng.choice([0.0, 0.5, 4.0, 15.0, None]), rng.random() < 0.6)]


def _cut(rng: Random, at_s: float, who: str) -> list[Act]:
    return [CutOff(at_s, who, rng.choice([1.0, 3.0, 8.0, 12.0, 30.0]))]


def _slow(rng: Random, at_s: float, who: str) -> list[Act]:
    append_s, read_s = rng.choice([(0.5, 0.0), (4.0, 0.0), (8.0, 0.0), (0.0, 2.0), (0.0, 8.0), (3.0, 3.0)])
    return [Slow(at_s, who, append_s, read_s, rng.choice([5.0, 20.0]))]


def _late(rng: Random, at_s: float, who: str) -> list[Act]:
    """A process that reads late, and then cannot append."""
    return [Slow(at_s, who, 0.0, 8.0, 20.0), CutOff(at_s + rng.uniform(2.0, 9.0), who, 15.0)]


def _pause(rng: Random, at_s: float, who: str) -> list[Act]:
    return [Pause(at_s, who, rng.choice([0.5, 4.0, 9.0, 12.0, 25.0]))]


def _command(rng: Random, at_s: float, who: str) -> list[Act]:
    return [Command(at_s, who, rng.choice(["transfer", "transfer", "drain", "undrain"]))]


def _contested(rng: Random, at_s: float, who: str) -> list[Act]:
    """The leadership is transferred while the member is not looking."""
    away: list[Act] = [Pause(at_s, who, 9.0), CutOff(at_s, who, 8.0), Hang(at_s, who, 9.0), Mute(at_s, who, 15.0)]
    return [rng.choice(away), Command(at_s + rng.uniform(0, 2), rng.choice("ab"), "transfer")]


def _jump(rng: Random, at_s: float, _: str) -> list[Act]:
    return [Jump(at_s, rng.choice([-200.0, -20.0, -3.0, 3.0, 20.0, 200.0]))]


def _evict(_: Random, at_s: float, who: str) -> list[Act]:
    return [Command(at_s, who, "evict")]


def _killed(rng: Random, at_s: float, who: str) -> list[Act]:
    """The renewer is killed while what it has said is not read back, often as it joins."""
    slow: list[Act] = [Slow(at_s, who, 0.0, 2.0, 14.0)]
    if rng.random() < 0.6:
        slow.append(Crash(at_s + 0.2, who, 0.0, remembers=True))
    return slow + [Kill(at_s + rng.uniform(1.0, 12.0), who, RENEWER) for _ in range(3)]


def _late_join(_: Random, at_s: float, who: str) -> list[Act]:
    """A join is on the log again after its incarnation has left."""
    return [Leave(at_s, who, 1.0), Repeat(at_s + 0.7, who, 20.0), Leave(at_s + 8.0, who, 25.0)]


KINDS: tuple[Kind, ...] = (
    _crash, _crash, _cut, _cut, _slow, _late, _pause, _pause, _command, _contested, _late_join, _killed,
    lambda rng, at_s, who: [Leave(at_s, who, rng.choice([1.0, 10.0]))],
    lambda rng, at_s, who: [Kill(at_s, who, rng.choice([VIEW_KEEPER, RENEWER, PROPOSER]))],
    lambda rng, at_s, who: [Hang(at_s, who, rng.choice([3.0, 12.0, 25.0]))],
    lambda rng, at_s, who: [Mute(at_s, who, rng.choice([5.0, 15.0, CHAOS_S]))],
    lambda rng, at_s, who: [Repeat(at_s, who, late_s) for late_s in rng.sample([0.0, 3.0, 20.0, 40.0], 2)],
    lambda rng, at_s, _: [Outage(at_s, rng.choice([3.0, 12.0, 30.0]))],
    lambda rng, at_s, who: [Describe(at_s, who, rng.choice(["red", "green", "blue"]))],
    lambda rng, at_s, _: [Configure(at_s, rng.choice([6_000, 10_000, 13_000]))],
    lambda rng, at_s, _: [Freeze(at_s, rng.choice([5.0, 20.0]))],
)  # fmt: skip
"""What happens: each is as likely as the others."""

JUMPS: tuple[Kind, ...] = (_jump,) * 6
EVICTS: tuple[Kind, ...] = (_evict,) * 2
