"""The plan of a seed: places, the relays between them, what happens at each, and the odds of each fault."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from callboard.messages.distribution.topic_messages import COMMANDS, Kind
from callboard.messages.headers import SEPARATOR
from callboard.testing.simulation.distribution.acts import (
    Act,
    CutOff,
    Exchange,
    Kill,
    Look,
    Lose,
    Outage,
    Publish,
    Renew,
    Restart,
    SendCommand,
    Spoil,
    Suspend,
    Trim,
)
from callboard.testing.simulation.distribution.plan import CHAOS_S, ODDS, PUBLISHERS, SUBSCRIBER_ROLES
from callboard.testing.simulation.engine.fates import Fault
from callboard.testing.simulation.engine.outcome import Planned

CENTRE = "centre"
SITES = ("oslo", "rome", "bonn")

SHAPES: dict[str, dict[str, str]] = {
    "one site": {"oslo": CENTRE},
    "two sites": {"oslo": CENTRE, "rome": CENTRE},
    "three sites": {"oslo": CENTRE, "rome": CENTRE, "bonn": CENTRE},
    "chain": {"oslo": CENTRE, "rome": "oslo"},
    "loop": {"oslo": CENTRE, CENTRE: "oslo"},
}
"""The relays of each, by the place where they append, and the place from which they read. A relay has the name of the
place where it appends."""

FREQUENT = ("one site", "one site", "one site", "two sites", "chain", "loop", "loop", "three sites")

PACKAGES = (5, 14)
ORDERS = tuple(COMMANDS)


@dataclass(frozen=True, slots=True)
class There(Act):
    """An act at a place."""

    place: str
    act: Act


@dataclass(frozen=True)
class RelaysPlan(Planned):
    """Places, and what happens there.

    ``edges`` are the settings of subscribers, and of relays that read there, by place and name. ``keys`` are the places
    whose log knows keys.
    """

    acts: tuple[There, ...]
    shape: str = field(kw_only=True)
    keys: frozenset[str] = field(kw_only=True)
    edges: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(kw_only=True)

    program: ClassVar[str] = "callboard simulate --relays"

    def whole(self) -> "RelaysPlan":
        """See ``Planned``."""
        return plan(self.seed)

    @property
    def exchanges(self) -> bool:
        """Whether a log is exchanged."""
        return any(isinstance(each.act, Exchange) for each in self.acts)


def plan(seed: int) -> RelaysPlan:
    """The plan of a seed."""
    rng = Random(f"relays/{seed}")  # noqa: S311  # reproducible, not secret
    shape = rng.choice(FREQUENT)
    routes = SHAPES[shape]
    places = (CENTRE, *(site for site in SITES if site in routes))
    edges: dict[str, dict[str, dict[str, Any]]] = {place: _subscribers(rng, place) for place in places}
    for target, source in routes.items():
        edges[source] |= _relay(rng, target, all_heard=not {"plain", "fixed", "careful"}.isdisjoint(edges[source]))
    acts = [*_packages(rng, routes), *_orders(rng, routes, edges)]
    for place in places:
        acts += [There(act.at_s, place, act) for act in _blows(rng, tuple(edges[place]), place not in routes.values())]
    odds = {fault: share for fault in Fault if (share := rng.choice(ODDS))}
    keys = frozenset(place for place in places if rng.random() < 0.6)
    return RelaysPlan(seed, tuple(sorted(acts, key=lambda act: act.at_s)), odds, shape=shape, keys=keys, edges=edges)


def _subscribers(rng: Random, place: str) -> dict[str, dict[str, Any]]:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"editable": True},
        "fixed": {"editable": False, "max_retries": rng.choice([-1, 3])},
        "careful": {"editable": True, "on_give_up": "quarantine", "max_retries": rng.choice([0, 1])},
        "narrow": {"editable": True, "follows": ("site",), "batch_packages": 1},
    }
    names = sorted(rng.sample(sorted(kinds), rng.choice([0, 1] if place == CENTRE else [1, 1, 2, 2, 3, 4])))
    shared = {"on_undecodable": "dead_letter", "on_gap": "earliest"}
    return {name: shared | kinds[name] for name in names}


def _relay(rng: Random, target: str, *, all_heard: bool) -> dict[str, dict[str, Any]]:
    """The hosts of a relay. It may follow some publishers only if another subscriber hears all: a package that nobody
    hears is never distributed.
    """
    options: dict[str, Any] = {
        "subscriber": target, "site": f"memory:{target}", "editable": rng.random() < 0.7, "on_gap": "earliest",
        "on_undecodable": "dead_letter", "max_retries": rng.choice([-1, 1]), "fetch_records": rng.choice([1, 3, 100]),
        "batch_packages": rng.choice([1, 3, 64]), "coalesce": False,
        "follows": ("site",) if all_heard and rng.random() < 0.5 else (),
        "include": rng.choice([(), (), ("/site/0", "/shop")]),
    }  # fmt: skip
    if rng.random() < 0.6:
        return {target: options}
    return {f"{target}-{number}": options | {"standby": True} for number in (1, 2)}


def _packages(rng: Random, routes: Mapping[str, str]) -> Iterator[There]:
    recipients = ["fixed", "plain", *routes, *(f"{site}{SEPARATOR}plain" for site in routes)]
    harm = rng.choice([0.0, 0.0, 0.1])
    burst_s = rng.choice([CHAOS_S, CHAOS_S, 1.0])
    theirs = rng.choice([0.0, 0.0, 0.3])  # published at sites
    for number in range(rng.randint(*PACKAGES)):
        place = rng.choice([*filter(lambda site: site in SITES, routes)]) if rng.random() < theirs else CENTRE
        name = rng.choice(PUBLISHERS) if place == CENTRE else "site"
        folder = f"/{name}/{rng.randrange(2)}"
        kind = rng.choice([Kind.ADD] * 6 + [Kind.DELETE, Kind.INVALIDATE, Kind.TEST])
        path = rng.choice([folder, f"{folder}/a", f"{folder}/b"])
        files: tuple[tuple[str, int], ...] = ()
        deep = kind is Kind.ADD and path == folder
        if kind is Kind.ADD:
            names = [f"{path}/{leaf}" for leaf in rng.sample("abc", rng.randint(1, 2))] if deep else [path]
            files = tuple((each, rng.choice([10, 1200, 4000])) for each in names)
        wrong = rng.choice(["damaged", "newer"]) if kind is Kind.ADD and rng.random() < harm else ""
        to = tuple(rng.sample(recipients, 2)) if rng.random() < 0.2 else ()
        act = Publish(rng.uniform(0, burst_s), number, name, kind, path, files, deep, wrong, 0, to)
        yield There(act.at_s, place, act)


def _orders(rng: Random, routes: Mapping[str, str], edges: Mapping[str, Mapping[str, Any]]) -> Iterator[There]:
    """Commands to subscribers of a site, by the name of its relay; and some to the relay itself."""
    for _ in range(rng.choice([0, 2, 5])):
        target = rng.choice(sorted(routes))
        source, name = routes[target], rng.choice([*edges[target], "nobody"])
        through = f"{target}{SEPARATOR}{edges[target].get(name, {}).get('subscriber', name)}"
        if source in routes and rng.random() < 0.5 and routes[source] != target:
            source, through = routes[source], f"{source}{SEPARATOR}{through}"
        to = rng.choice([through, through, through, through.partition(SEPARATOR)[0]])
        at_s, order = rng.uniform(0.5, CHAOS_S), rng.choice(ORDERS)
        orders = (order,) if rng.random() < 0.4 else ("pause", rng.choice(["skip", "clear"]), "resume")  # at its head
        for order in orders:
            act = SendCommand(at_s, to, order, "", rng.random() < 0.2)
            yield There(at_s, source, act)
            at_s += rng.uniform(0.5, 2.5)


def _blows(rng: Random, edges: tuple[str, ...], is_last: bool) -> Iterator[Act]:
    def when() -> float:
        return rng.uniform(0, CHAOS_S)

    relays = [edge for edge in edges if edge.partition("-")[0] in (CENTRE, *SITES)]
    for edge in relays:
        yield from (Kill(when(), edge, rng.choice(SUBSCRIBER_ROLES)) for _ in range(rng.choice([0, 2, 6])))
        for _ in range(rng.choice([0, 1, 2])):
            away_s = rng.choice([0.5, 6.0])
            blow = rng.choice([
                Lose(when(), edge, rng.random() < 0.5, away_s), CutOff(when(), edge, away_s),
                Suspend(when(), edge, away_s), Restart(when(), edge, rng.choice([0.0, 0.05, 5.0])),
            ])  # fmt: skip
            yield blow
        if rng.random() < 0.1:
            yield Renew(rng.uniform(3.0, CHAOS_S), edge, "disk lost")
    others = [edge for edge in edges if edge not in relays]
    if others:
        yield from (Lose(when(), rng.choice(others), rng.random() < 0.5) for _ in range(rng.choice([0, 0, 1])))
    yield from (Outage(when(), rng.choice([0.5, 4.0])) for _ in range(rng.choice([0, 0, 1])))
    yield from (Trim(when(), rng.random() < 0.2) for _ in range(rng.choice([0, 0, 1])))
    if rng.random() < 0.1:
        yield Spoil(when(), rng.choice(["missing", "corrupt"]), rng.uniform(0.5, 3.0))
    if is_last and rng.random() < 0.12:
        yield Exchange(rng.uniform(2.0, CHAOS_S), rng.choice(["replaced", "set back"]), rng.choice([0.2, 1.0, 5.0]))
    if rng.random() < 0.3:
        yield Look(when(), "site")
