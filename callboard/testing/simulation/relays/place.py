"""A place: a log with its publishers and subscribers, the relays that read it, and those that append to it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from callboard.actors.core.agent import World
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.worlds.relay.relay_world import RelayWorld
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.board.read.sites.members import members
from callboard.content.importing.apply import needed_blobs
from callboard.errors import NotAnswered
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    PackageMessage,
    PackageStatusMessage,
)
from callboard.messages.headers import SEPARATOR, open_record
from callboard.messages.record import Record
from callboard.messages.relayed import origin_of, site_recipients
from callboard.messages.repeated import original_of
from callboard.testing.simulation.distribution.acts import Publish
from callboard.testing.simulation.distribution.fleet import Edge, Fleet, Judge
from callboard.testing.simulation.distribution.plan import PUBLISHERS, Plan
from callboard.testing.simulation.distribution.scene import TOPICS
from callboard.testing.simulation.distribution.truth import Sent
from callboard.testing.simulation.engine.disk import SimulatedRepository
from callboard.testing.simulation.relays.plan import CENTRE, SHAPES, RelaysPlan
from callboard.testing.simulation.relays.relay_oracle import Passage, RelayOracle

OFFSETS = 100
"""Where the package log of a site begins."""


class Place(Fleet):
    """One of the ``places``. Checks everything that comes here by a relay, and what relays that read here say.

    ``relayed`` has, by the offset here, the relay that appended it, the log it was read from, and its offset there.
    ``came`` are the places that a package was at before, by its id. ``passages`` lead to the sites of relays that read
    here, by their names.
    """

    def __init__(
        self, simulation: Simulation, plan: RelaysPlan, name: str, folder: Path, places: Mapping[str, "Place"]
    ) -> None:
        self.name, self.places = name, places
        self.routes = {target for target, source in SHAPES[plan.shape].items() if source == name}
        self.source = SHAPES[plan.shape].get(name, "")
        self.relayed: dict[int, tuple[str, str, int]] = {}
        self.came: dict[str, tuple[str, ...]] = {}
        self.passages = {
            relay: Passage(partial(self.owed, relay), partial(self._unsettled, relay)) for relay in self.routes
        }
        self.results: dict[tuple[str, str], list[CommandResultMessage]] = defaultdict(list)
        self.carried: dict[tuple[str, str, str, int], int] = {}
        own = Plan(plan.seed, (), plan.odds, keys=name in plan.keys, edges=plan.edges[name])
        folder.mkdir()
        super().__init__(simulation, own, folder, PUBLISHERS if name == CENTRE else ("site",))

    async def start(self) -> None:
        """See ``Fleet``; the log of a site has offsets of its own."""
        await self.log.memory.ensure(TOPICS.package)
        await self.log.memory.complete(TOPICS.package, "", 0, 1 if self.name == CENTRE else OFFSETS)
        await super().start()

    # What is known of packages before they come.

    def know(self, identity: str, act: Publish, came: tuple[str, ...] = ()) -> None:
        """See ``Fleet``; it will come to the places behind this one, too, unless it was there before."""
        if identity in self.scene.acts:
            return
        super().know(identity, act)
        self.came[identity] = came
        for relay in sorted(self.routes):
            if not act.recipients or relay in act.recipients:
                self.places[relay].know(identity, replace(act, recipients=()), (*came, self.name))
            elif there := site_recipients(act.recipients, relay):
                self.places[relay].know(identity, replace(act, recipients=there), (*came, self.name))

    def owed(self, relay: str, log_id: str, up_to: int) -> Iterator[Sent]:
        """What this place has up to this offset, and the relay's site has not, without a reason."""
        target, oracle = self.places[relay], self.relay_edges(relay)[0].oracle
        there = {origin for its, log, origin in target.relayed.values() if (its, log) == (relay, log_id)}
        for offset, sent in self.scene.packages.items():
            returns = relay in self.came[sent.record_id]
            lost = target.scene.exchanged and offset < self.first()
            excused = returns or lost or sent.record_id in self.passages[relay].excused
            if offset <= up_to and offset not in there and oracle.concerns(sent) and not excused:
                yield sent

    def relay_edges(self, relay: str) -> list[Edge]:
        """The hosts of a relay that reads here; first the one that has its name."""
        found = [edge for edge in self.edges.values() if edge.settings.site and edge.subscriber == relay]
        return sorted(found, key=lambda edge: not edge.active)

    # What comes.

    def appended(self, topic: str, record: Record) -> None:
        """See ``Fleet``."""
        if topic == TOPICS.package and origin_of(record) is not None:
            self._arrived(record)
        elif topic == TOPICS.status:
            self._reported(record)
        elif topic == TOPICS.command:
            self._ordered(open_record(record, CommandMessage))
        elif topic == TOPICS.discovery and record.header("type") == DiscoveryMessage.__name__:
            self._announced(open_record(record, DiscoveryMessage))
        super().appended(topic, record)

    async def exchange_log(self, since_ns: int | None) -> None:
        """See ``Fleet``."""
        await super().exchange_log(since_ns)
        self.relayed = {offset: its for offset, its in self.relayed.items() if offset in self.scene.packages}
        self.carried.clear()

    def _arrived(self, record: Record) -> None:
        """A package has come by a relay: once, in order, for us, not from here, with its content."""
        came, demand = origin_of(record), self.scene.demand
        assert came is not None
        source, (log_id, origin), identity = self.places[self.source], came.last, record.header("id")
        where = f"{came.relay} appended {identity} of offset {origin} at {record.offset}"
        known = [its.packages[origin] for its in source.scene.histories if origin in its.packages]
        demand(any(sent.record_id == identity for sent in known), "what is relayed is on the log before", where)
        before = [  # what was trimmed cannot be found by a host with another ledger
            at
            for offset, (relay, log, at) in self.relayed.items()
            if (relay, log) == (came.relay, log_id) and offset >= self.first()
        ]
        demand(
            all(at < origin for at in before), "packages are relayed once, in their order", f"{where}, after {before}"
        )
        passed = {log for log, _ in came.path}
        demand(self.scene.histories[-1].log_id not in passed, "nothing comes back", where)
        oracle = source.relay_edges(came.relay)[0].oracle
        demand(any(map(oracle.concerns, known)), "a relay passes on what it is to", where)
        message = open_record(record, PackageMessage)
        digests = {*needed_blobs(message), *filter(None, [message.content_ref])}
        demand(digests <= self.blobs.digests, "content is at the site before its package", where)
        self.relayed[record.offset] = came.relay, log_id, origin
        self.scene.count["relayed"] += 1

    def _ordered(self, command: CommandMessage) -> None:
        """A command that comes by a relay is about the same packages as there."""
        relay, _, identity = command.command_id.partition(SEPARATOR)
        if not identity or self.places[self.source].scene.unsettled or self.scene.unsettled:
            return
        given = self.places[self.source].scene.commands[f"{relay}{SEPARATOR}{command.subscriber}"]
        origins = {offset: origin for offset, (its, _, origin) in self.relayed.items() if its == relay}
        for its in (its for _, its in given if its.command_id == identity):
            pairs = ((command.skip, its.skip), (command.retry, its.retry))
            right = all(origins.get(here.offset, -1) == there.offset for here, there in pairs if here and there)
            if command.clear and its.clear:
                to, up_to = command.clear.offset, its.clear.offset
                right = all((offset <= to) == (origin <= up_to) for offset, origin in origins.items())
            self.scene.demand(right, "a command is about the same packages at the site", f"{its}, there {command}")

    def _reported(self, record: Record) -> None:
        line: Any = open_record(record, (PackageStatusMessage, CommandResultMessage))
        if isinstance(line, CommandResultMessage) and original_of(record) is None:
            self.results[line.subscriber, line.command_id].append(line)
        if SEPARATOR in line.subscriber:
            self.scene.reporters[line.subscriber] = [partial(self._carried, record.offset)]

    def _carried(self, at: int, line: Any) -> bool:
        """Whether the result is what the site's subscriber has said. It is there once, where the log knows keys."""
        relay, _, name = line.subscriber.partition(SEPARATOR)
        target, what = self.places[relay], (line.subscriber_instance, line.sequence, line.accepted, line.reason)
        which = line.subscriber, line.command_id, line.subscriber_instance, line.sequence
        once = self.carried.get(which, -1) < self.log.first(TOPICS.status) or not self.plan.keys
        self.carried[which] = at
        self.scene.demand(once, "a result is carried once", f"{line}")
        self.scene.count["result carried"] += 1
        said = target.results[name, f"{relay}{SEPARATOR}{line.command_id}"]
        return what in [(one.subscriber_instance, one.sequence, one.accepted, one.reason) for one in said]

    def _announced(self, claim: DiscoveryMessage) -> None:
        """A relay never says of its site more than every subscriber there has, that others wait for."""
        if claim.site is None or claim.log_id != self.scene.histories[-1].log_id or self._unsettled(claim.subscriber):
            return
        target = self.places[claim.subscriber]
        if claim.site.problem or (target.scene.exchanged and not claim.site.time_ns):
            return  # it says what it knew before
        where = f"{claim.subscriber} at {claim.place} says offset {claim.offset}"
        owed = list(self.owed(claim.subscriber, claim.log_id, claim.offset))
        self.scene.demand(not owed, "a relay announces what its site has", f"{where}, which lacks {owed}")
        which = claim.subscriber, claim.log_id
        came = ((origin, offset) for offset, (*its, origin) in target.relayed.items() if (*its,) == which)
        first = dict(sorted(came, reverse=True))  # by its offset here, where each came first
        for name, at in target.passed("site").items():
            if name == self.name:
                continue  # it comes back, and waits for this one itself
            lacks = [
                offset  # without what was trimmed, which nobody will have
                for origin, offset in first.items()
                if origin <= claim.offset and offset > at and offset >= target.first()
            ]
            story = f"{where}, and {name}, at {at}, lacks {lacks} of the site"
            self.scene.demand(not lacks, "a relay announces what all of its site have", story)

    # Relays that read here.

    def _unsettled(self, relay: str) -> bool:
        return self.scene.unsettled or self.places[relay].scene.unsettled

    def _judge(self, name: str, options: Mapping[str, Any]) -> Judge:
        if "site" not in options:
            return super()._judge(name, options)
        return partial(RelayOracle, self.passages[options["subscriber"]])

    def _subscriber_world(self, edge: Edge, repository: SimulatedRepository) -> World:
        if not edge.settings.site:
            return super()._subscriber_world(edge, repository)
        return RelayWorld(
            edge.subscriber, self.log, self.blobs, self.spool(edge.name), topics=TOPICS, ledger=repository,
            site=SimulatedSite(self.places[edge.subscriber]), clock=edge.host.clock,
            new_id=lambda: f"{self.rng.getrandbits(128):032x}",
        )  # fmt: skip


class SimulatedSite:
    """See ``SiteBoard``: the place where a relay appends."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.log, self.blobs, self.topics = place.log, place.blobs, TOPICS

    async def members(self) -> Sequence[SiteMember]:
        """See ``SiteBoard``: as a publisher's agent there tells."""
        agent = self._place.publishers["site"].agent
        if agent is None:
            raise NotAnswered("the publisher's agent does not run")
        return await members(agent, self.log, TOPICS.package, self._place.simulation.clock.now().wall_ns)

    async def close(self) -> None:
        """See ``SiteBoard``."""
