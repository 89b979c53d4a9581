"""The plan of a seed: workers, jobs, and what happens to them. A plan can be shortened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from callboard.actors.jobs.worker.roles import DISPATCHER, REPORTER
from callboard.messages.event import replaced
from callboard.messages.jobs.job_messages import QUEUE_DECIDES, JobOptions, JobQueue, QueueOrder
from callboard.testing.simulation.engine.outcome import Planned
from callboard.testing.simulation.jobs.acts import (
    Act,
    Add,
    Command,
    Configure,
    Join,
    PlannedJob,
    Schedule,
    Strike,
    Suspend,
    Trouble,
)

CHAOS_S = 60.0
"""Virtual seconds in which things happen; afterwards all is calm."""

ACTS = (10, 40)
LIMITED = JobQueue(name="limited", topics=("a/limited",), cluster_parallel=3, parallel=2, crashes=200, delay_ms=50)
RATED = JobQueue(name="rated", topics=("a/rated",), rate=3, rate_ms=2_000, crashes=200, delay_ms=50)
TAGS = ("gpu",)
QUEUES = (
    LIMITED,
    JobQueue(name="ordered", topics=("a/ordered",), order=QueueOrder.ORDERED, crashes=200, delay_ms=50),
    JobQueue(name="turns", topics=("turn/*",), order=QueueOrder.TOPIC_ROUND_ROBIN, cluster_parallel=4, crashes=200),
    RATED,
    JobQueue(name="tagged", topics=("a/tagged",), tags=TAGS, crashes=200, delay_ms=50),
    JobQueue(name="rest", topics=("**",), crashes=3, delay_ms=50, retries=5, keep_ms=5_000),
)
TOPICS = ("a/limited", "a/limited", "a/ordered", "a/rated", "a/tagged", "b", "b", "c/d")
TURNS = ("turn/1", "turn/2", "turn/3")
ALL = ("a/*", "b", "turn/*", "**")
PATTERNS = (ALL, ALL, ("a/limited", "turn/*"), ("b", "turn/**", "a/*"))
"""What workers run. Topics in turn are run by all of them, so that none has to wait for a worker."""
DENIED = ("a/limited", "c/**")
CRON, CRON_MS = ("*/5 * * * * *",), 5000
RULES: tuple[dict[str, Any], ...] = (
    {"every_ms": 1000}, {"every_ms": 3000}, {"every_ms": 7000}, {"cron": CRON}, {"at_ms": 500},
    {"at_ms": 9000},
)  # fmt: skip
"""When schedules have ticks."""

TROUBLES = {"calm log": (), "the log is exchanged": ("exchange",), "clocks jump": ("jump", "skew")}
SHARES = (8, 1, 1)
SNAPSHOTS = 0.5
"""The share of seeds with many snapshots."""


@dataclass(frozen=True)
class JobsPlan(Planned):
    """Workers, jobs, and what happens to them. ``called`` is what may happen to the log: one of ``TROUBLES``. With
    ``snapshots``, there are many small ones, and the log is trimmed by them.
    """

    acts: tuple[Act, ...]
    called: str = field(kw_only=True)
    snapshots: bool = field(kw_only=True, default=False)

    program: ClassVar[str] = "callboard simulate --jobs"

    @property
    def is_punctual(self) -> bool:
        """Whether all clocks are right."""
        return self.called != "clocks jump"

    @property
    def is_whole(self) -> bool:
        """Whether the log keeps all records."""
        return self.called != "the log is exchanged"

    def whole(self) -> "JobsPlan":
        """See ``Planned``."""
        return plan(self.seed)


def plan(seed: int) -> JobsPlan:
    """The plan of a seed."""
    rng = Random(f"jobs/{seed}")  # noqa: S311  # reproducible, not secret
    (called,) = rng.choices(list(TROUBLES), SHARES)
    acts: list[Act] = [_join(rng, 0.0, name) for name in "xyz"]
    acts += [_add(rng, rng.uniform(0, CHAOS_S), "") for _ in range(rng.randint(4, 12))]
    acts += [act for _ in range(rng.randint(*ACTS)) for act in _anything(rng)]
    for verb in TROUBLES[called]:
        at_s, jump_s = rng.uniform(CHAOS_S / 4, CHAOS_S), rng.choice([-200.0, -20.0, -3.0, 3.0, 20.0, 200.0])
        kept = rng.choice([1.0, 0.9, 0.5, 0.0])
        skew = Strike(at_s, verb, rng.choice("xyz"), jump_s)
        acts.append(skew if verb == "skew" else Trouble(at_s, verb, kept if verb == "exchange" else jump_s))
    return JobsPlan(seed, tuple(sorted(acts, key=lambda act: act.at_s)), {}, called=called,
                    snapshots=rng.random() < SNAPSHOTS)  # fmt: skip


def _anything(rng: Random) -> list[Act]:
    at_s, who = rng.uniform(0, CHAOS_S), rng.choice("xyzu")
    found = rng.choice(KINDS)(rng, at_s, who)
    return found if isinstance(found, list) else [found]


def _join(rng: Random, at_s: float, who: str) -> Act:
    slots = rng.choice([1, 2, 4])
    if not at_s:
        return Join(at_s, who, slots, ALL, tags=TAGS)
    return Join(at_s, who, slots, rng.choice(PATTERNS), rng.choice([(), (), DENIED]), rng.choice([TAGS, ()]))


def _add(rng: Random, at_s: float, _: str) -> Act:
    if rng.random() < 0.3:  # one topic floods the others
        flood, few = rng.choice(TURNS), rng.sample(TURNS, 2)
        jobs = [PlannedJob(flood, rng.choice([0.3, 1.0])) for _ in range(20)] + [PlannedJob(each, 0.3) for each in few]
    else:
        jobs = [_job(rng, place) for place in range(rng.choice([1, 1, 3, 8]))]
    again_s = tuple(rng.sample([0.0, 0.5, 20.0], rng.choice([0, 0, 0, 1, 2])))
    return Add(at_s, tuple(jobs), again_s)


def _job(rng: Random, place: int) -> PlannedJob:
    options = JobOptions(
        job=place, lane=rng.choice(["", "", "one", "two"]), priority=rng.choice([0, 0, 5, -1]),
        unique=rng.choice(["", "", "", "key", "other"]), unique_ms=rng.choice([0, 0, 5_000]),
        retries=rng.choice([QUEUE_DECIDES, QUEUE_DECIDES, 1, 0]), timeout_ms=rng.choice([0, 0, 0, 1_000]),
        after_failures=rng.random() < 0.5,
    )  # fmt: skip
    return PlannedJob(
        rng.choice(TOPICS), rng.choice([0.001, 0.02, 0.3, 1.5, 4.0]), rng.choice([0, 0, 0, 1, 2]),
        rng.choice([None, 0.0, 0.2]), rng.random() < 0.05, rng.choice([0.0, 0.0, 0.7, 5.0]),
        rng.choice([(), (), (), (), (0,), (1,), (1, 3)]),
        rng.random() < 0.1, options if rng.random() < 0.6 else None,
    )  # fmt: skip


def _away(rng: Random, at_s: float, who: str) -> list[Act]:
    """The worker is suspended, or cut off, for long; it or its dispatcher may just be saying something."""
    slow = [Strike(at_s - 0.2, "slow", who, 3.0)] if rng.random() < 0.5 else []
    return [*slow, Strike(at_s, rng.choice(["pause", "cut"]), who, rng.choice([0.5, 4.0, 12.0, 25.0]))]


def _rushed(rng: Random, at_s: float, who: str) -> list[Act]:
    """A queue gets other settings, or is suspended, while the dispatcher says what to start."""
    slow = [Strike(at_s, "slow", name, 3.0) for name in "xyz"]
    adds = [_add(rng, at_s + 0.1, who) for _ in range(2)]
    return [*slow, *adds, rng.choice([_configure, _suspend])(rng, at_s + rng.uniform(0.1, 2.0), who)]


def _configure(rng: Random, at_s: float, _: str) -> Act:
    most, each = rng.choice([(3, 2), (1, 1), (2, 0), (0, 1)])
    retries = rng.choice([10, 1])
    if rng.random() < 0.3:
        return Configure(at_s, replaced(RATED, rate=rng.choice([1, 3, 0])))
    return Configure(at_s, replaced(LIMITED, cluster_parallel=most, parallel=each, retries=retries))


def _suspend(rng: Random, at_s: float, _: str) -> Act:
    name = rng.choice(["limited", "rest", "turns", "often", "seldom"])
    return Suspend(at_s, name, rng.choice([0.5, 5.0, 20.0]))


Kind = Callable[[Random, float, str], Act | list[Act]]

KINDS: tuple[Kind, ...] = (
    _add, _add, _add, _away, _away, _join, _join, _rushed, _configure, _suspend,
    lambda rng, at_s, who: Strike(at_s, rng.choice([f"kill_{DISPATCHER}", f"kill_{REPORTER}"]), who),
    lambda rng, at_s, who: Strike(at_s, "slow", who, rng.choice([5.0, 20.0])),
    lambda rng, at_s, who: Strike(at_s, "lose", who, rng.choice([5.0, 20.0])),
    lambda rng, at_s, who: Strike(at_s, "blind", who, rng.choice([5.0, 20.0])),
    lambda rng, at_s, who: Strike(at_s, rng.choice(["crash", "stop", "evict", "replace"]), who),
    lambda rng, at_s, who: [Strike(at_s, "crash", who), _join(rng, at_s + rng.choice([0.1, 3.0]), who)],
    lambda rng, at_s, _: Command(at_s, rng.choice(["stop", "drop", "forget"]), rng.random()),
    lambda rng, at_s, _: Trouble(at_s, "outage", rng.choice([2.0, 12.0])),
    lambda rng, at_s, _: Schedule(at_s, rng.choice(["often", "seldom"]), rng.choice(RULES),
                                  rng.choice([0, 1, 3, 100]), rng.choice(["", "tick"])),
)  # fmt: skip
"""What happens: each is as likely as the others."""
