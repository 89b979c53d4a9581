"""The plan of a seed: a fleet, what happens to it, and the odds of each fault. A plan can be shortened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from callboard.actors import publisher, subscriber
from callboard.messages.distribution.topic_messages import COMMANDS, Kind
from callboard.testing.simulation.distribution.acts import (
    Act,
    CutOff,
    Delay,
    Exchange,
    Kill,
    Look,
    Lose,
    Outage,
    Poison,
    Publish,
    Renew,
    Restart,
    SendCommand,
    Skew,
    Spoil,
    Suspend,
    Trim,
)
from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.engine.outcome import Planned

PUBLISHERS = ("site", "shop")
CHAOS_S = 12.0
"""Virtual seconds in which things happen; afterwards all is calm."""

TAKEOVERS_S = 0.4 * CHAOS_S
"""The latest time to lose a name, so that another host takes it, and the first is back, before all is calm."""

PACKAGES = (8, 24)
STUBBORN = (0, 0, 0, 0, 0, 0, 0, 1, 2, 6)
"""How often hooks fail at a package: some are given up, and none fails forever."""

PAIRS = 0.3
"""The share of seeds in which two hosts share a subscriber's name."""

EXCHANGES = 0.2
"""The share of seeds in which the log is exchanged."""

POISONS = 0.2
"""The share of seeds in which actors are asked a question that they crash at."""

RENEWALS = 0.3
"""The share of seeds in which a subscriber starts over after it received a command."""

STEPS = 0.4
"""The share of seeds in which wall clocks jump so far that a host that trusted them would give a name away, or keep
it forever."""

LEASES = 0.5
"""The share of seeds with such a pair in which the two lease the name for different times."""

CALM_TAKEOVERS = 0.4
"""The share of seeds with such a pair in which the name is taken over, or nearly, once all is calm."""

CALM_AFTER_S = 1000.0
"""Acts from this moment on are carried out once all is calm, with this taken from their times."""

HOLDER, STANDBY = "the holder", "the stand-by"
"""Of such a pair, the host that has the name at the moment of the act, and the other one."""

JUMPS_S = (45.0, 86_400.0, -3600.0)

TAKES_AWAY = ("clear", "clear", "skip", "pause", "throttle")
"""Commands to its predecessor that a new repository must not accept."""

ODDS = (0.0, 0.004, 0.015, 0.04)
"""The odds of one fault at one effect: each seed has its own, so that some see much of one and nothing of another."""

PUBLISHER_ROLES = (
    publisher.roles.DISTRIBUTOR, publisher.roles.TAIL_POLLER, publisher.roles.OLDER_POLLER,
    publisher.roles.QUEUE_CACHE, publisher.roles.FLEET, publisher.roles.STATUS_WATCHER,
    publisher.roles.COMMAND_SENDER, publisher.roles.NOTIFIER, publisher.roles.BLOB_JANITOR,
)  # fmt: skip
SUBSCRIBER_ROLES = (
    subscriber.roles.PACKAGE_POLLER, subscriber.roles.IMPORTER, subscriber.roles.STATUS_SENDER,
    subscriber.roles.ANNOUNCER, subscriber.roles.COMMAND_HANDLER,
)  # fmt: skip


@dataclass(frozen=True)
class Plan(Planned):
    """A fleet, and what happens to it: ``edges`` are the subscribers' settings by name, and ``keys`` is whether the log
    supports keys.
    """

    acts: tuple[Act, ...]
    keys: bool = field(kw_only=True)
    edges: Mapping[str, Mapping[str, Any]] = field(kw_only=True)

    def whole(self) -> "Plan":
        """See ``Planned``."""
        return plan(self.seed)


def plan(seed: int) -> Plan:
    """The plan of a seed."""
    rng = Random(f"plan/{seed}")  # noqa: S311  # reproducible, not secret
    edges = _edges(rng)
    acts = [*_packages(rng), *_commands(rng, tuple(edges)), *_blows(rng, tuple(edges))]
    more = Random(f"more/{seed}")  # noqa: S311  # likewise; what came later leaves the rest of the seed as it was
    if more.random() < PAIRS:
        pair = _pair(more)
        edges |= pair
        acts += _takeovers(more, tuple(pair))
    if more.random() < EXCHANGES:
        how = more.choice(["replaced", "set back", "set back"])
        acts.append(Exchange(more.uniform(2.0, CHAOS_S), how, more.choice([0.2, 1.0, 5.0])))
    if more.random() < POISONS:
        for _ in range(3):
            name = more.choice([*edges, *PUBLISHERS])
            role = more.choice(SUBSCRIBER_ROLES if name in edges else PUBLISHER_ROLES)
            acts.append(Poison(more.uniform(0, CHAOS_S), name, role))
    renewing = Random(f"anew/{seed}")  # noqa: S311  # likewise
    if renewing.random() < RENEWALS:
        acts += _renewals(renewing, tuple(edges))
    steps = Random(f"steps/{seed}")  # noqa: S311  # likewise
    if steps.random() < STEPS:
        acts += _steps(steps, edges)
    leases = Random(f"leases/{seed}")  # noqa: S311  # likewise
    if leases.random() < LEASES:
        acts += _leases(leases, edges)
    calm = Random(f"calm/{seed}")  # noqa: S311  # likewise
    leases_s = [options["claim_ttl_s"] for options in edges.values() if options.get("standby")]
    if calm.random() < CALM_TAKEOVERS and leases_s:
        acts += _takeovers_in_calm(calm, leases_s)
    odds = {fault: share for fault in Fault if (share := rng.choice(ODDS))}
    return Plan(seed, tuple(acts), odds, keys=rng.random() < 0.6, edges=edges)


def _edges(rng: Random) -> dict[str, dict[str, Any]]:
    """Two or three of five kinds of subscribers."""
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"editable": True, "on_undecodable": rng.choice(["block", "dead_letter"])},
        "fixed": {"editable": False, "on_undecodable": "dead_letter", "max_retries": rng.choice([-1, 3])},
        "hooked": {"editable": True, "follows": ("site",), "hook_retries": rng.choice([-1, 2]), "max_retries": 2},
        "careful": {"editable": True, "on_give_up": "quarantine", "max_retries": rng.choice([0, 1]),
                    "on_undecodable": "dead_letter"},
        "staged": {"editable": True, "golden": "plain", "max_retries": rng.choice([-1, 1]),
                   "on_give_up": rng.choice(["skip", "block"])},
    }  # fmt: skip
    names = rng.sample(sorted(kinds), rng.choice([2, 2, 3]))
    if "staged" in names and "plain" not in names:
        names[names.index(next(name for name in names if name != "staged"))] = "plain"
    extent: dict[str, list[int]] = {"fetch_records": [1, 3, 100], "outbox_max": [2, 1000], "batch_packages": [1, 3, 64]}
    return {
        name: {**kinds[name], "on_gap": rng.choice(["fail", "earliest"])}
        | {key: rng.choice(of) for key, of in extent.items()}
        for name in sorted(names)
    }


def _pair(rng: Random) -> dict[str, dict[str, Any]]:
    """Two hosts, each with a repository, that share one subscriber's name."""
    options = {
        "subscriber": "paired", "standby": True, "editable": True, "on_undecodable": "dead_letter",
        "on_gap": "earliest", "max_retries": rng.choice([-1, 1]), "claim_ttl_s": 3.0, "announce_interval_s": 1.0,
    }  # fmt: skip
    return {f"paired-{number}": options for number in (1, 2)}


def _takeovers(rng: Random, pair: tuple[str, ...]) -> list[Act]:
    """Each nearly or really takes the name from its holder: a claim is valid for three seconds, and a standby checks it
    every other second.
    """
    acts: list[Act] = []
    for _ in range(rng.choice([1, 2, 4])):
        at_s, edge, seconds = rng.uniform(0, TAKEOVERS_S), rng.choice(pair), rng.choice([5.0, 8.0])
        blows = (Lose(at_s, edge, True, seconds), CutOff(at_s, edge, seconds), Suspend(at_s, edge, seconds))
        acts.append(rng.choice(blows))
    acts += [Kill(rng.uniform(0, CHAOS_S), rng.choice(pair), rng.choice(SUBSCRIBER_ROLES)) for _ in range(2)]
    return acts


def _steps(rng: Random, edges: dict[str, dict[str, Any]]) -> list[Act]:
    """Clocks jump while names are claimed, held, watched and taken over; hosts that share one differ in their lease."""
    pair = [name for name, options in edges.items() if options.get("standby")]
    if pair:
        name = rng.choice(pair)
        edges[name] = edges[name] | {"claim_ttl_s": rng.choice([3.0, 6.0])}
    hosts = pair or list(edges)
    return [
        Skew(rng.uniform(0, CHAOS_S), rng.choice(hosts), rng.choice(JUMPS_S), 1.0) for _ in range(rng.choice([2, 4, 8]))
    ]


def _leases(rng: Random, edges: dict[str, dict[str, Any]]) -> list[Act]:
    """Two hosts share a name with different leases; one is lost when the other is about to be suspended."""
    pair = [name for name, options in edges.items() if options.get("standby")]
    if not pair:
        return []
    lost, other = rng.sample(pair, 2)
    for name, lease_s in ((lost, rng.choice([3.0, 6.0])), (other, rng.choice([4.5, 9.0]))):
        edges[name] = edges[name] | {"claim_ttl_s": lease_s}
    at_s = rng.uniform(CHAOS_S, CHAOS_S + 3.0)  # the name's holder is settled by then
    return [Lose(at_s, lost, True, 12.0), Suspend(at_s + rng.uniform(0.0, 1.0), other, rng.choice([5.0, 9.0]))]


def _takeovers_in_calm(rng: Random, leases_s: list[float]) -> list[Act]:
    """The holder is away, and the stand-by is suspended, has its claim delayed, or takes over and starts again."""
    at_s = CALM_AFTER_S + rng.uniform(0.0, 1.0)
    match rng.choice(["suspended", "delayed", "started again"]):
        case "suspended":
            suspended = Suspend(at_s + rng.uniform(0.0, 1.0), STANDBY, rng.choice([8.0, 10.0]))
            acts, end_s = [Lose(at_s, HOLDER, True, 12.0), suspended], 20.0
        case "delayed":
            away_s = 1.45 * rng.choice(leases_s)  # the other one gives it up after 1.1 of them, or a look later
            acts, end_s = [Suspend(at_s, HOLDER, away_s), Delay(at_s, STANDBY, 5.0)], away_s + 10.0
        case _:  # and the topic no longer has how it took over when the former holder is back
            again = Lose(at_s + rng.uniform(7.0, 10.0), HOLDER, False)
            acts, end_s = [Lose(at_s, HOLDER, True, 25.0), again], 40.0
    news = Publish(at_s + end_s / 3, PACKAGES[1] + 1, "site", Kind.ADD, "/site/0/a", (("/site/0/a", 10),))
    return [*acts, news, Look(at_s + end_s, "site")]


def _renewals(rng: Random, edges: tuple[str, ...]) -> list[Act]:
    """A repository gets a command to leave something out, is lost or reset, and still gets more commands."""
    edge, at_s = rng.choice(edges), rng.uniform(3.0, CHAOS_S)
    before = [
        SendCommand(rng.uniform(1.0, at_s), edge, rng.choice(TAKES_AWAY), to=rng.choice(["", "", "unnamed"]))
        for _ in range(rng.choice([2, 4]))
    ]
    after = [
        SendCommand(
            rng.uniform(at_s, CHAOS_S + 3.0), edge, rng.choice(TAKES_AWAY), to=rng.choice(["", "former", "unnamed"])
        )
        for _ in range(rng.choice([1, 3]))
    ]
    return [*before, Renew(at_s, edge, rng.choice(["disk lost", "position reset"])), *after]


def _packages(rng: Random) -> list[Act]:
    acts: list[Act] = []
    harm = rng.choice([0.0, 0.0, 0.1])
    burst_s = rng.choice([CHAOS_S, CHAOS_S, 1.0])
    for number in range(rng.randint(*PACKAGES)):
        name = rng.choice([*PUBLISHERS, "site"])
        folder = f"/{name}/{rng.randrange(3)}"
        path = rng.choice([folder, f"{folder}/a", f"{folder}/b", f"{folder}/c/d"])
        kind = rng.choice([Kind.ADD] * 6 + [Kind.DELETE] * 2 + [Kind.INVALIDATE, Kind.TEST])
        files: tuple[tuple[str, int], ...] = ()
        deep = False
        if kind is Kind.ADD:
            deep = path == folder
            leaves = rng.sample(["a", "b", "c/d", "e"], rng.randint(1, 3))
            names = [f"{path}/{leaf}" for leaf in leaves] if deep else [path]
            files = tuple((each, rng.choice([10, 10, 1200, 4000])) for each in names)
        wrong = rng.choice(["damaged", "newer"]) if kind is Kind.ADD and rng.random() < harm else ""
        to = ("fixed", "careful") if rng.random() < 0.1 else ()
        stubborn = rng.choice(STUBBORN)
        acts.append(Publish(rng.uniform(0, burst_s), number, name, kind, path, files, deep, wrong, stubborn, to))
    return sorted(acts, key=lambda act: act.at_s)


def _commands(rng: Random, edges: tuple[str, ...]) -> list[Act]:
    return [
        SendCommand(
            rng.uniform(0, CHAOS_S),
            rng.choice(edges),
            rng.choice(tuple(COMMANDS)),
            rng.choice(["", "site"]),
            rng.random() < 0.2,
        )
        for _ in range(rng.choice([0, 3, 6]))
    ]


def _blows(rng: Random, edges: tuple[str, ...]) -> list[Act]:
    acts: list[Act] = []

    def when() -> float:
        return rng.uniform(0, CHAOS_S)

    for _ in range(rng.choice([0, 5, 15])):
        name = rng.choice([*edges, *PUBLISHERS])
        acts.append(Kill(when(), name, rng.choice(SUBSCRIBER_ROLES if name in edges else PUBLISHER_ROLES)))
    acts += [Lose(when(), rng.choice(edges), rng.random() < 0.5) for _ in range(rng.choice([0, 1, 3]))]
    acts += [Restart(when(), rng.choice(edges), rng.choice([0.0, 0.05, 5.0])) for _ in range(rng.choice([0, 1, 2]))]
    acts += [Outage(when(), rng.choice([0.5, 4.0])) for _ in range(rng.choice([0, 0, 1, 3]))]
    acts += [Trim(when(), rng.random() < 0.3) for _ in range(rng.choice([0, 0, 1]))]
    jumps = (-3600.0, -5.0, 5.0, 3600.0)
    for _ in range(rng.choice([0, 0, 2])):
        name = rng.choice([*edges, *PUBLISHERS])
        jump_s = rng.choice(jumps if name in edges else (-2.0, 2.0))
        rate = rng.choice([0.9, 1.0, 1.1]) if name in edges else 1.0
        acts.append(Skew(when(), name, jump_s, rate))
    for _ in range(rng.choice([0, 0, 1])):
        acts.append(Spoil(when(), rng.choice(["missing", "corrupt"]), rng.uniform(0.5, 3.0)))
    acts += [Look(when(), rng.choice(PUBLISHERS)) for _ in range(rng.choice([0, 4]))]
    return acts
