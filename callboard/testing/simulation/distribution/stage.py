"""Carries out a fleet's plan, then lets it come to rest, and checks the result."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from callboard.actors.publisher import roles
from callboard.actors.publisher.intake.request import package_of
from callboard.backends.log import Retention
from callboard.content.ship import build
from callboard.errors import CallboardError, LogUnavailable, NotAnswered, RequestRefused
from callboard.messages import codec
from callboard.messages.distribution.fleet_mail import CommandRequest
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import DistributeRequest, ReadyQuery
from callboard.messages.distribution.topic_messages import (
    COMMANDS,
    ClearCommand,
    CommandMessage,
    PackageMessage,
    RetryCommand,
    SkipCommand,
    ThrottleCommand,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.testing.simulation.distribution import acts, truth, views
from callboard.testing.simulation.distribution.fleet import Edge, Fleet
from callboard.testing.simulation.distribution.plan import CALM_AFTER_S
from callboard.testing.simulation.distribution.scene import TOPICS
from callboard.testing.simulation.distribution.world import BLOB_THRESHOLD, INLINE_MAX

CALM_S = 300.0
"""Virtual seconds within which all must have caught up once the faults end: the longest wait between two attempts is
half a minute, and several may follow one another."""

LOOK_S = 0.25
HELP_S = 20.0
"""Seconds between the operator's checks, once calm, for a staged subscriber whose verdict cannot come."""

ASK_S = 5.0
POISON_S = 15.0
"""Two restarts, and those that the fates add."""

REGROWN_S = 3.0
"""Seconds in which publishers append to an older copy of the log before subscribers are back."""

EXCHANGE_S = 1.0
"""Seconds that the log is away while it is exchanged."""


class Stage:
    """Carries out one plan."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._loop = fleet.simulation.loop
        self._orders = 0
        self._instances: dict[str, list[str]] = defaultdict(list)
        """The repositories of each host that commands were addressed to."""

    async def play(self) -> None:
        """From the beginning to the end. The scene has any violation."""
        fleet = self._fleet
        await fleet.start()
        calm = [act for act in fleet.plan.acts if act.at_s >= CALM_AFTER_S]
        await asyncio.gather(*(self.at(act, act.at_s) for act in fleet.plan.acts if act not in calm))
        await self.calm_down()
        await settle([self])
        if calm:
            await asyncio.gather(*(self.at(act, act.at_s - CALM_AFTER_S) for act in calm))
            fleet.log.delays_s.clear()
            await settle([self])
        await self.speak_to_the_dead()
        await views.agree(fleet)
        await fleet.stop()

    async def at(self, act: acts.Act, after_s: float) -> None:  # noqa: PLR0912  # one a kind of act
        """Carry out the act, after this many seconds."""
        await asyncio.sleep(after_s)
        self._fleet.simulation.note(f"{self._loop.time():.6f} {act}")
        self._fleet.scene.count[type(act).__name__] += 1
        match act:
            case acts.Publish():
                await self._publish(act)
            case acts.SendCommand():
                await self._order(act)
            case acts.Kill(agent=name, role=role):
                if (agent := self._fleet.hosts[name].agent) is not None:
                    await agent.kill(role)
            case acts.Poison(agent=name, role=role):
                await self._poison(name, role)
            case acts.Lose(edge=name, host=host, away_s=away_s):
                self._fleet.edge(name).host.lose(host=host, away_s=away_s)
            case acts.CutOff(edge=name, seconds=seconds):
                self._fleet.log.cut_off(name, seconds)
            case acts.Delay(edge=name, seconds=seconds):
                self._fleet.log.delays_s[self._fleet.edge(name).name] = seconds
            case acts.Suspend(edge=name, seconds=seconds):
                self._fleet.edge(name).host.suspend(seconds)
            case acts.Renew(edge=name, how=how):
                await self._renew(self._fleet.edges[name], how)
            case acts.Restart(edge=name, drain_s=drain_s):
                await self._fleet.edges[name].host.stop(drain_s)
            case acts.Outage(seconds=seconds):
                self._fleet.log.fail_for(seconds)
            case acts.Trim(careless=careless):
                await self._trim(careless)
            case acts.Exchange():
                await self._exchange(act)
            case acts.Skew(agent=name, jump_s=jump_s, rate=rate):
                self._fleet.hosts[name].clock.skew(jump_s, rate)
            case acts.Spoil(how=how, seconds=seconds):
                self._fleet.blobs.spoil(how, seconds)
                self._fleet.scene.count[f"{how} blobs"] += 1
            case acts.Look(publisher=name):
                await views.look(self._fleet, name)

    # Publishing.

    async def _publish(self, act: acts.Publish) -> None:
        number = str(act.number)
        self._fleet.requests[number] = act
        if act.harm:
            await self._smuggle(act)
            return
        request = DistributeRequest(
            request_id=number, kind=act.kind, paths=(act.path,), deep_paths=(act.path,) if act.deep else (),
            source=number, recipients=act.recipients,
        )  # fmt: skip
        identity = package_of(request, act.publisher, "i").package_id
        self._fleet.know(identity, act)
        while True:
            agent = self._fleet.publishers[act.publisher].agent
            if agent is None:
                await asyncio.sleep(LOOK_S)
                continue
            with suppress(NotAnswered):
                answer = await agent.ask(roles.DISTRIBUTOR, request, ASK_S)
                if answer.accepted:
                    return
                self._fleet.scene.demand(answer.retry, "a right request is accepted", f"{act}: {answer.reason}")
                await asyncio.sleep(LOOK_S)

    async def _smuggle(self, act: acts.Publish) -> None:
        """Put a package on the log that no publisher of this version would make."""
        fleet = self._fleet
        deep = [act.path] if act.deep else []
        shipment = await build(
            act.kind, truth.source(act), [act.path], deep, blobs=fleet.blobs, spool=fleet.folder,
            inline_max=INLINE_MAX, blob_threshold=BLOB_THRESHOLD,
        )  # fmt: skip
        digest = "0" * 64 if act.harm == "damaged" else shipment.content_digest
        identity = f"smuggled {act.number}"
        message = PackageMessage(
            publisher_instance="i", publisher=act.publisher, package_id=identity, kind=act.kind,
            recipients=act.recipients, **(asdict(shipment) | {"content_digest": digest}),
        )  # fmt: skip
        fleet.know(identity, act)
        record = new_record(message, record_id=identity, time_ns=1, producer="smuggler")
        if act.harm == "newer":
            headers = tuple((name, "2.0" if name == "version" else value) for name, value in record.headers)
            record = NewRecord(payload=record.payload, headers=headers, key=record.key)
        await fleet.log.put(TOPICS.package, record)

    # Commands.

    async def _order(self, act: acts.SendCommand) -> None:
        edge = self._fleet.edges[act.edge]
        command = replace(self._command(edge, act.order, act.publisher), **self._to(edge, act.to))
        await self._give(command)
        if act.twice:
            await self._put(command)

    async def _give(self, command: CommandMessage) -> None:
        """Every other one by a publisher's agent."""
        await (self._put(command) if self._orders % 2 else self._ask_for(command))

    async def _put(self, command: CommandMessage) -> None:
        record = new_record(command, record_id=f"{command.command_id}", time_ns=1, producer="operator")
        await self._fleet.log.put(TOPICS.command, record)

    async def _ask_for(self, command: CommandMessage) -> None:
        agent = self._fleet.publishers["site"].agent
        if agent is not None:
            with suppress(NotAnswered):
                await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), ASK_S)

    def _command(self, edge: Edge, order: str, of_publisher: str) -> CommandMessage:
        """The command at the worst moment: about the package at the head, or one in quarantine."""
        self._orders += 1
        ledger, packages = edge.oracle.ledger, self._fleet.scene.packages
        ahead = min((offset for offset in packages if offset > ledger.offset), default=max(packages, default=0))
        lost = [given.offset for given in ledger.given_up] + [held.offset for held in ledger.held]
        lost += [hook.offset for hook in ledger.failed_hooks]
        offset = self._fleet.rng.choice([ahead, *lost])
        message = CommandMessage(
            subscriber=edge.subscriber, command_id=f"order {self._orders}", author="operator", **self._to(edge, "")
        )
        rng = self._fleet.rng
        detailed: dict[str, Callable[[], Event]] = {
            "clear": lambda: ClearCommand(offset=max(packages, default=0)),
            "retry": lambda: RetryCommand(offset=rng.choice([-1, offset])),
            "skip": lambda: SkipCommand(offset=offset),
            "throttle": lambda: ThrottleCommand(packages_per_min=rng.choice([0, 60, 600])),
        }
        given: dict[str, Any] = {order: detailed.get(order, COMMANDS[order])()}
        return replace(message, publisher=of_publisher if order == "clear" else "", **given)

    def _to(self, edge: Edge, to: str) -> dict[str, Any]:
        """The repository that a command is for, and its position: the one last heard of, or a former one."""
        known, ledger = self._instances[edge.name], edge.oracle.ledger
        if ledger.instance and ledger.instance not in known:
            known.append(ledger.instance)
        if to == "unnamed" or not known:
            return {"subscriber_instance": "", "position": -1}
        if to == "former" and len(known) > 1:
            return {"subscriber_instance": known[-2], "position": -1}
        return {"subscriber_instance": known[-1], "position": ledger.offset}

    # Other acts.

    async def _renew(self, edge: Edge, how: str) -> None:
        """Once it runs: only a stopped one can be reset, and one that is starting may have read its ledger already."""
        while edge.host.agent is None:  # noqa: ASYNC110  # hosts have no events
            await asyncio.sleep(LOOK_S)
        empty = how == "disk lost"
        self._to(edge, "")
        if empty:
            edge.host.lose(host=True)
        else:
            await edge.host.stop(5.0)
        self._fleet.scene.count[how] += 1
        fresh = Ledger(instance=f"{self._fleet.rng.getrandbits(128):032x}", subscriber=edge.subscriber)
        edge.disk.renew(b"" if empty else codec.encode(fresh), empty=empty)
        edge.oracle.renewed(empty=empty)

    async def _poison(self, name: str, role: str) -> None:
        """Ask a question that the actor crashes at; the answer says so, unless the whole agent ends first."""
        host = self._fleet.hosts[name]
        if (agent := host.agent) is None:
            return
        try:
            await agent.ask(role, ReadyQuery(), POISON_S)
            answer = "an answer"
        except RequestRefused:
            return
        except CallboardError as error:
            answer = str(error)
        same = host.agent is agent and not agent.has_ended
        self._fleet.scene.demand(
            not same, "a question that an actor crashes at is answered", f"{name}, {role}: {answer}"
        )

    async def _trim(self, careless: bool) -> None:
        """Remove packages that all have, or that most have."""
        if self._fleet.scene.exchanged:
            return  # positions on one log say nothing about another
        positions = [edge.oracle.ledger.offset for edge in self._fleet.edges.values()]
        held = [held.offset for edge in self._fleet.edges.values() for held in edge.oracle.ledger.held]
        below = max(self._fleet.scene.packages, default=0) if careless else min([*positions, *held], default=-1) + 1
        with suppress(LogUnavailable):
            await self._fleet.log.trim(TOPICS.package, Retention(below_offset=below))

    async def _exchange(self, act: acts.Exchange) -> None:
        """As the operations manual says: stop everything before an older copy is put in place.

        The copy lacks the last package that was imported. Subscribers come back later than publishers, so that the copy
        may have passed their positions again.
        """
        fleet = self._fleet
        fleet.scene.count[f"log {act.how}"] += 1
        fleet.log.fail_for(EXCHANGE_S)
        since_ns = None
        if act.how == "set back":
            ago_ns = fleet.simulation.clock.now().wall_ns - round(act.back_s * 1e9)
            furthest = max(edge.oracle.ledger.offset for edge in fleet.edges.values())
            since_ns = min(ago_ns, fleet.log.appended_ns(TOPICS.package, furthest, ago_ns) - 1)
            for name, host in fleet.hosts.items():
                later_s = 0.0 if name in fleet.publishers else REGROWN_S
                host.lose(host=False, away_s=2 * EXCHANGE_S + later_s)
        await fleet.exchange_log(since_ns)

    async def calm_down(self) -> None:
        """No more faults, and the operator corrects what only people can: settings, pauses, limits."""
        self._fleet.fates.active = self._fleet.log.active = False
        for edge in self._fleet.edges.values():
            await self._put(self._command(edge, "resume", ""))
            lifted = replace(self._command(edge, "resume", ""), resume=None, throttle=ThrottleCommand())
            await self._put(lifted)
            edge.settings = replace(edge.settings, on_gap="earliest", on_undecodable="dead_letter")
            if edge.settings.on_give_up == "block":
                edge.settings = replace(edge.settings, on_give_up="skip")
        await asyncio.gather(*(edge.host.stop(5.0) for edge in self._fleet.edges.values()))

    @property
    def is_busy(self) -> bool:
        """Whether a subscriber has something to do, or owes an answer."""
        return any(map(self._busy, self._fleet.edges.values())) or bool(self._owed())

    def demand_rest(self) -> None:
        """None may be busy any more."""
        late = [self._state(edge) for edge in self._fleet.edges.values() if self._busy(edge)]
        self._fleet.scene.demand(not late, "progress resumes", f"after {CALM_S:g} s of calm: {'; '.join(late)}")
        owed = self._owed()
        self._fleet.scene.demand(not owed, "every command is answered", f"after {CALM_S:g} s of calm: {owed}")

    def _owed(self) -> list[CommandMessage]:
        """The commands without an answer whose repository still exists."""
        there = {edge.oracle.ledger.instance for edge in self._fleet.edges.values() if edge.active}
        return [order for order in self._fleet.scene.unanswered.values() if order.subscriber_instance in there]

    async def speak_to_the_dead(self) -> None:
        """A command to a former repository is answered by the one that has its name; or, if that begins to listen
        afterwards, shown as void.
        """
        for edge in self._fleet.edges.values():
            if edge.active:
                given = replace(self._command(edge, "pause", ""), subscriber_instance="one that is gone")
                await self._put(given)
                key = given.subscriber, given.command_id
                with suppress(TimeoutError):
                    async with asyncio.timeout(CALM_S):  # a successor may have to wait for the name
                        while key in self._fleet.scene.unanswered and not self._is_void(given):  # noqa: ASYNC110
                            await asyncio.sleep(LOOK_S)
                answered = key not in self._fleet.scene.unanswered or self._is_void(given)
                self._fleet.scene.demand(
                    answered, "a command to a former repository is refused", f"{given} has no answer"
                )

    def _is_void(self, given: CommandMessage) -> bool:
        edges = (edge for edge in self._fleet.edges.values() if edge.subscriber == given.subscriber)
        void = (each.subscriber_instance for edge in edges for each in edge.oracle.ledger.void_commands)
        return given.subscriber_instance in void

    async def help(self) -> None:
        """The operator looks again: a command of before the calm may have waited for the log, and come last."""
        for edge in self._fleet.edges.values():
            if edge.oracle.ledger.paused_by and self._busy(edge):
                await self._put(self._command(edge, "resume", ""))
            if edge.settings.golden and self._busy(edge):
                order = self._command(edge, "retry", "")
                await self._put(replace(order, retry=RetryCommand(offset=-1, without_golden=True)))

    def _busy(self, edge: Edge) -> bool:
        ledger = edge.oracle.ledger
        if not edge.active:  # another host of this name has work then, if only to wait for the name
            return not any(other.active for other in self._fleet.edges.values() if other.subscriber == edge.subscriber)
        behind = ledger.offset < max(self._fleet.scene.packages, default=-1)
        due = any(held.due for held in ledger.held)
        return behind or due or bool(ledger.outbox or ledger.results or ledger.hooks)

    def _state(self, edge: Edge) -> str:
        ledger = edge.oracle.ledger
        end = max(self._fleet.scene.packages, default=-1)
        return (
            f"{edge.name} is at offset {ledger.offset} of {end}, with {len(ledger.outbox)} statuses, "
            f"{len(ledger.results)} results, {len(ledger.hooks)} hooks, held {[held.offset for held in ledger.held]}; "
            f"last error {ledger.last_error!r}, ended by {edge.host.ends[-1:]}"
        )


async def settle(stages: Sequence[Stage]) -> None:
    """Wait until all have caught up and announced it, and every command has its result."""
    loop = asyncio.get_running_loop()
    helped_s = loop.time()
    try:
        async with asyncio.timeout(CALM_S):
            while any(stage.is_busy for stage in stages):
                await asyncio.sleep(LOOK_S)
                if loop.time() - helped_s > HELP_S:
                    helped_s = loop.time()
                    for stage in stages:
                        await stage.help()
    except TimeoutError:
        for stage in stages:
            stage.demand_rest()
