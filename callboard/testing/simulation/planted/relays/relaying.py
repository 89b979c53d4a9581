"""Bugs in relays."""

from dataclasses import replace
from typing import Any

from callboard.actors.subscriber.site.site import Site
from callboard.actors.worlds.relay import relay_world
from callboard.actors.worlds.relay.commands import Commands
from callboard.actors.worlds.relay.forwarding import Forwarding
from callboard.actors.worlds.relay.relay_world import RelayWorld
from callboard.messages import codec, relayed
from callboard.testing.simulation.planted.patch import Patch


async def _blind(right: Any, self: Any, ledger: Any, source: str) -> Any:
    del right, self, source
    return ledger


async def _hasty(right: Any, self: Any, effect: Any, spans: Any) -> Any:
    del right, spans
    source = effect.ledger.log_id
    await self._held().save(codec.encode(effect.attempt), durable=False)
    known = await self._forwarding.catch_up(effect.ledger, source)
    await self._held().save(codec.encode(known))
    due = self._forwarding.due(effect.packages, effect.records, known)
    await self._bring_blobs(due, effect.parallel)
    return await self._forwarding.append(due, known, source) if due else known


def _for_itself(right: Any, self: Any, report: Any) -> Any:
    said = right(self, report)
    return replace(said, announcement=replace(said.announcement, offset=report.announcement.offset))


async def _forgets(right: Any, members: Any, offsets: Any, position: int) -> Any:
    return await right(members[1:], offsets, position)


async def _twice(right: Any, self: Any, command: Any, offset: int, source: str, now_ns: int) -> Any:
    again = replace(command, command_id=f"{command.command_id} again")
    await right(self, again, offset + 1_000_000, source, now_ns)
    return await right(self, command, offset, source, now_ns)


async def _untranslated(right: Any, self: Any, command: Any, source: str) -> Any:
    del right, self, source
    return command


def _back_again(right: Any, record: Any, log_id: str) -> bool:
    del right, record, log_id
    return False


async def _no_blobs(right: Any, *given: Any) -> None:
    del right, given


def _all_of_it(right: Any, recipients: Any, relay: str) -> Any:
    del right, recipients, relay
    return ()


async def _trusting(right: Any, self: Any, ledger: Any, source: str) -> bool:
    del right, self, ledger, source
    return True


BUGS = (
    Patch("a relay does not look what its site's log has", Forwarding, "catch_up", _blind),
    Patch("a relay stores its ledger before it appends", RelayWorld, "_import", _hasty),
    Patch("a relay announces its own position as its site's", Site, "add_to", _for_itself),
    Patch("a relay forgets one of its site's subscribers", relay_world, "survey", _forgets),
    Patch("a relay forwards a command under two ids", Commands, "forward", _twice),
    Patch("a relay forwards a command with the offsets of its own log", Commands, "_translated", _untranslated),
    Patch("packages go round in a loop", "callboard.actors.worlds.relay.forwarding", "has_passed", _back_again),
    Patch("a relay appends before the content is there", relay_world, "bring_all", _no_blobs),
    Patch("what is for one subscriber of a site is for all", relayed, "site_recipients", _all_of_it),
    Patch("a site's log set back is not noticed", Forwarding, "_has_last", _trusting),
)
