"""Bugs in what connected clusters know of each other."""

from dataclasses import replace
from typing import Any

from callboard.actors.topology.announcements import registry
from callboard.actors.topology.announcements.registry import Registry
from callboard.testing.simulation.planted.patch import Patch


def _all(_: Any, self: Registry) -> Any:
    return tuple({each.cluster_id: each for heard in self.heard.values() for each in heard.clusters}.values())


def _only_own(right: Any, self: Registry, neighbour: str) -> Any:
    return (right(self, neighbour) or ())[:1] or None


def _halved(right: Any, cluster: Any) -> Any:
    shown = right(cluster)
    return replace(shown, instances=shown.instances[:1])


def _one_key(right: Any, self: Any, keys: Any) -> None:
    right(self, tuple(keys)[:1])


BUGS = (
    Patch("announcements do not expire", Registry, "expire", lambda *_: False),
    Patch("an instance that passes on is not listed", registry, "replaced", lambda _, cluster, **__: cluster),
    Patch("a cluster with instances of another is shown", Registry, "announced", _all),
    Patch("nothing is passed on", Registry, "said_to", _only_own),
    Patch("only the first member of a cluster is shown", registry, "_remote", _halved),
    Patch("late announcements count", "callboard.connectors.replays.Replays", "refused", lambda *_: ""),
    Patch("only the first key opens", "callboard.connectors.keys.KeyRing", "__init__", _one_key),
)
