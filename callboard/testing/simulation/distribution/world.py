"""The world of a simulated agent: the real one, on simulated backends."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from callboard.actors.core.agent import ActorSpec, Clock
from callboard.actors.core.decision import After, Decision, Done, Effect, Failed, Input, Moment, Origin, Perform
from callboard.actors.core.hooks import NO_CHANGES, Concerned, Hook
from callboard.actors.publisher.effects import BuildPackage
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.worlds.world import AgentWorld
from callboard.content.importing.changes import Changes
from callboard.content.ship import build
from callboard.errors import HookFailed
from callboard.messages.distribution.mailbox import ReadyQuery
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.testing.simulation.distribution import truth
from callboard.testing.simulation.distribution.acts import Publish
from callboard.testing.simulation.engine.disk import SimulatedRepository
from callboard.testing.simulation.engine.fates import deed
from callboard.testing.simulation.engine.simulated_blobs import SimulatedBlobs
from callboard.testing.simulation.engine.simulated_log import SimulatedLog

INLINE_MAX = 900
"""Bytes of a package that go through the log: few, so that even small ones use the blob store."""

BLOB_THRESHOLD = 2000
"""Bytes above which a file becomes a separate blob."""

Witness = Callable[[Perform], None]


POISON = "this is poison"
"""Every actor crashes at a ``ReadyQuery``, which nothing else asks here; see ``Poison``."""


class Marked:
    """A decision whose effects carry its role, and whose timers may run faster."""

    def __init__(self, decision: Decision, role: str, haste: float, begins: Witness) -> None:
        self._decision = decision
        self._role = role
        self._haste = haste
        self._begins = begins

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """See ``Decision``."""
        if isinstance(message, ReadyQuery):
            raise RuntimeError(POISON)
        if isinstance(message, Done | Failed):
            owner = message.effect.owner.removeprefix(f"{self._role}/")
            message = replace(message, effect=replace(message.effect, owner=owner))
        for effect in self._decision.receive(message, origin, now):
            match effect:
                case Perform(owner=owner):
                    self._begins(effect)
                    yield replace(effect, owner=f"{self._role}/{owner}")
                case After(key, seconds):
                    yield After(key, seconds / self._haste)
                case _:
                    yield effect


def _mark(spec: ActorSpec, haste: float, begins: Witness, settings: Any, rng: Random) -> Marked:
    return Marked(spec.decision(settings, rng), spec.role, haste, begins)


def marked(specs: tuple[ActorSpec, ...], haste: Mapping[str, float], begins: Witness) -> tuple[ActorSpec, ...]:
    """The same actors, with marked effects. ``haste`` is how much faster the timers of a role run, ``begins`` receives
    every effect when it is decided on.
    """
    return tuple(
        ActorSpec(spec.role, partial(_mark, spec, haste.get(spec.role, 1.0), begins), spec.settings) for spec in specs
    )


class SimulatedHooks:
    """A subscriber's hooks: each call meets faults like a call to a backend, and fails at first for some packages.

    Args:
        acts: the packages, by their ids.
    """

    def __init__(self, acts: Mapping[str, Publish]) -> None:
        self._acts = acts
        self._refused: Counter[tuple[Hook, str]] = Counter()

    def has(self, hook: Hook) -> bool:  # noqa: ARG002 - it notes the calls of all
        """See ``Hooks``."""
        return True

    async def call(
        self, hook: Hook, package: Concerned, offset: int, attempt: int, changes: Changes = NO_CHANGES
    ) -> None:
        """See ``Hooks.call``."""
        del attempt, changes
        async with deed(HookFailed):
            if self._refused[hook, package.package_id] < self._acts[package.package_id].stubborn:
                self._refused[hook, package.package_id] += 1
                raise HookFailed(f"the service does not like offset {offset}")


class SimulatedWorld(AgentWorld):
    """The real world on simulated backends. ``requests`` are the packages to publish, by the number that a request
    names as its source.
    """

    def __init__(
        self,
        log: SimulatedLog,
        blobs: SimulatedBlobs,
        spool: Path,
        *,
        repository: SimulatedRepository | None,
        hooks: SimulatedHooks,
        clock: Clock,
        requests: Mapping[str, Publish],
    ) -> None:
        super().__init__(log, blobs, spool, repository=repository, hooks=hooks, clock=clock)
        self._requests = requests

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        if isinstance(effect, BuildPackage):
            return await self._built(effect)
        if isinstance(effect, ImportPackages) and isinstance(self._repository, SimulatedRepository):
            self._repository.importing = effect
        return await super().perform(effect)

    async def _built(self, effect: BuildPackage) -> PackageMessage:
        request, act = effect.request, self._requests[effect.request.source]
        shipment = await build(
            request.kind,
            truth.source(act),
            request.paths,
            request.deep_paths,
            gone=request.gone_paths,
            compress=request.compress,
            blobs=self._blobs,
            spool=self._spool,
            inline_max=INLINE_MAX,
            blob_threshold=BLOB_THRESHOLD,
        )
        return PackageMessage(publisher_instance="", publisher="", package_id="", kind=request.kind, **asdict(shipment))
