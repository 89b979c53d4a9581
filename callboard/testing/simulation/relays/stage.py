"""Carries out the plan of places and relays, then lets all come to rest, and checks the result."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from callboard.actors.publisher import roles
from callboard.errors import NotAnswered
from callboard.messages.distribution.fleet_mail import FleetQuery
from callboard.messages.distribution.topic_messages import CommandMessage, RetryCommand, SiteReport, SkipCommand
from callboard.messages.headers import SEPARATOR
from callboard.testing.simulation.distribution import acts, views
from callboard.testing.simulation.distribution.fleet import Edge
from callboard.testing.simulation.distribution.stage import Stage, settle
from callboard.testing.simulation.relays.place import Place
from callboard.testing.simulation.relays.plan import RelaysPlan

REMEDY = "start the relay with another ledger"
"""What a relay says if its site's log was exchanged."""


class RelaysStage:
    """Carries out one plan."""

    def __init__(self, plan: RelaysPlan, places: Mapping[str, Place]) -> None:
        self._plan, self._places = plan, places
        self._stages = {name: PlaceStage(place) for name, place in places.items()}

    async def play(self) -> None:
        """From the beginning to the end. The scenes have any violation."""
        places, stages = self._places.values(), self._stages.values()
        for place in places:
            await place.start()
        await asyncio.gather(*(self._stages[each.place].at(each.act, each.at_s) for each in self._plan.acts))
        for stage in stages:
            await stage.calm_down()
        await settle([*stages])
        for stage in stages:
            await stage.speak_to_the_dead()
        await settle([*stages])
        for stage in stages:
            await stage.agree()
        for place in places:
            await place.stop()


class PlaceStage(Stage):
    """Carries out what happens at one place."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._place = place

    async def agree(self) -> None:
        """Everything is where it belongs, and every view agrees with the log."""
        place = self._place
        for relay in sorted(place.routes):
            log_id = place.scene.histories[-1].log_id
            owed = list(place.owed(relay, log_id, place.scene.end()))
            place.scene.demand(not owed, "everything comes to the site", f"{relay} lacks {owed}")
        await views.agree(place)
        for relay in sorted(place.routes):
            problem = "never looked"
            with suppress(TimeoutError):
                async with asyncio.timeout(views.AGREE_S):
                    while problem := await self._wrong_report(relay):  # noqa: ASYNC110  # views have no events
                        await asyncio.sleep(views.AGAIN_S)
            place.scene.demand(not problem, "a relay tells of its site as it is", f"{relay}: {problem}")

    async def _wrong_report(self, relay: str) -> str:
        """What is wrong in the relay's report of its site, where all is done."""
        agent, edge = self._place.publishers["site"].agent, self._place.relay_edges(relay)[0]
        report: SiteReport | None = None
        if agent is not None:
            with suppress(NotAnswered):
                view = await agent.ask(roles.FLEET, FleetQuery(), views.ASK_S)
                report = next(m.announcement.site for m in view.members if m.announcement.subscriber == relay)
        target, position = self._place.places[relay], edge.oracle.ledger.offset
        if report is None or report.problem:
            return f"no report: {report}"
        log_id = target.scene.histories[-1].log_id
        if (report.log_id, report.relayed, report.offset, report.oldest_ns) != (log_id, position, position, 0):
            return f"{report}, and the relay is at {position}"
        expected = len(set(self._leaves(target, (self._place.name,))))
        known = sum(each.subscribers for each in report.counts)
        wrong = not report.subscribers == known == expected or any(each.packages > 0 for each in report.worst)
        return f"{report}, with {expected} subscribers" if wrong else ""

    def _leaves(self, place: Place, above: tuple[str, ...]) -> list[str]:
        """The subscribers of a site, and those behind it, without what comes back."""
        found = []
        for edge in place.edges.values():
            if edge.settings.site and edge.subscriber not in above:
                found += self._leaves(place.places[edge.subscriber], (*above, place.name))
            elif not edge.settings.site:
                found.append(f"{place.name}{SEPARATOR}{edge.subscriber}")
        return found

    async def help(self) -> None:
        """See ``Stage``; relays whose site's log was exchanged get another ledger, once they say so."""
        await super().help()
        for edge in self._place.edges.values():
            if edge.settings.site and REMEDY in self._said(edge):
                self._place.scene.count["site exchanged"] += 1
                await self._renew(edge, "disk lost")
                edge.host.ends.clear()

    def _owed(self) -> list[CommandMessage]:
        return [order for order in super()._owed() if not self._waits_at_site(order)]

    def _waits_at_site(self, order: CommandMessage) -> bool:
        """Whether it was forwarded to a repository that stands by there, or is gone."""
        relay, _, name = order.subscriber.partition(SEPARATOR)
        if not name:
            return False
        target = self._place.places[relay]
        there = {edge.oracle.ledger.instance for edge in target.edges.values() if edge.active}
        forwarded = target.scene.unanswered.get((name, f"{relay}{SEPARATOR}{order.command_id}"))
        return forwarded is not None and forwarded.subscriber_instance not in there

    def _said(self, edge: Edge) -> str:
        """What the relay says is the matter, at its end or in its announcement."""
        held = self._place.scene.tenants.held.get(edge.subscriber)
        announced = held.claim if held is not None and held.who[1] == edge.name else None
        return " ".join([*edge.host.ends[-1:], str(announced)])

    async def _order(self, act: acts.SendCommand) -> None:
        relay, _, name = act.edge.partition(SEPARATOR)
        edge = self._place.relay_edges(relay)[0]
        command = replace(self._command(edge, act.order, act.publisher), **self._to(edge, act.to))
        if name:
            command = self._at_head(replace(command, subscriber=act.edge), relay, name)
        await self._give(command)
        if act.twice:
            await self._put(command)

    def _at_head(self, command: CommandMessage, relay: str, name: str) -> CommandMessage:
        """The command about the package at the head of that subscriber's queue, if it is about one."""
        target = self._place.places[relay]
        ahead = [
            origin
            for edge in target.edges.values()
            for offset, (_, log, origin) in target.relayed.items()
            if edge.subscriber == name and offset > edge.oracle.ledger.offset
            if log == self._place.scene.histories[-1].log_id
        ]
        if not ahead:
            return command
        if command.skip is not None:
            return replace(command, skip=SkipCommand(offset=min(ahead)))
        if command.retry is not None and command.retry.offset >= 0:
            return replace(command, retry=RetryCommand(offset=min(ahead)))
        return command
