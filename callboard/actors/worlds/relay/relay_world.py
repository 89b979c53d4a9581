"""The world of a relay: a subscriber's, whose repository has only a ledger, and whose imports go to another log."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from callboard.actors.core.agent import Clock
from callboard.actors.core.decision import Perform
from callboard.actors.subscriber.effects import (
    CarryResults,
    ForwardCommand,
    ImportPackages,
    SurveyRepository,
    SurveySite,
)
from callboard.actors.worlds.relay.blobs import bring_all
from callboard.actors.worlds.relay.commands import Commands
from callboard.actors.worlds.relay.forwarding import Due, Forwarding
from callboard.actors.worlds.relay.offsets import Offsets
from callboard.actors.worlds.relay.site_board import SiteBoard
from callboard.actors.worlds.relay.survey import survey
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repository import Repository
from callboard.content.importing.apply import needed_blobs
from callboard.errors import ConfigError, LogError, NameLapsed, RepositoryUnavailable, RequestRefused
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import SiteReport
from callboard.messages.topics import Topics
from callboard.telemetry.spans import Span

SURVEY_MAX_S = 20.0
"""Seconds for a survey of the site. One of ten thousand subscribers takes a few."""


class RelayWorld(AgentWorld):
    """A relay's access to the log that it reads and to its site.

    Args:
        relay: the relay's name, which is that of its site.
        log: the log that it reads.
        blobs: the blob store beside it.
        spool: a folder for temporary files; see ``AgentWorld``.
        topics: of the log that it reads.
        ledger: the repository with its ledger, and without content.
        site: where it appends.
        clock: tells the time.
        new_id: makes the id of a new ledger.
        everything: whether it takes every package, from the oldest on.
        owned: whether ``close`` also closes the log and the blob store.
    """

    def __init__(
        self,
        relay: str,
        log: Log,
        blobs: BlobStore,
        spool: Path,
        *,
        topics: Topics,
        ledger: Repository,
        site: SiteBoard,
        clock: Clock,
        new_id: Callable[[], str],
        everything: bool = False,
        owned: bool = False,
    ) -> None:
        super().__init__(log, blobs, spool, repository=ledger, clock=clock, owned=owned)
        self._relay, self._source_topics, self._site, self._time, self._new_id = relay, topics, site, clock, new_id
        self._forwarding = Forwarding(relay, site, everything=everything)
        self._verified_to = -1  # the last package that is known to be from the log that it reads
        self._commands = Commands(relay, site, log, blobs, topics.status)

    async def perform(self, effect: Perform) -> Any:
        """The result that the effect's description promises."""
        match effect:
            case SurveySite(ledger):
                return await self._survey(ledger)
            case ForwardCommand(command, offset):
                source, now_ns = await self._source_id(), self._time.now().wall_ns
                return await self._commands.forward(command, offset, source, now_ns)
            case CarryResults():
                source, now_ns = await self._source_id(), self._time.now().wall_ns
                return await self._commands.carry(effect, source, self._spooled, now_ns)
            case SurveyRepository():
                raise RequestRefused("a relay has no content of its own; ask for that of a subscriber of its site")
            case _:
                return await super().perform(effect)

    async def close(self) -> None:
        """Release the ledger, the site, and everything else that this world owns."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(super().close)
            stack.push_async_callback(self._site.close)

    async def _open_repository(self) -> Ledger | None:
        ledger = await super()._open_repository()
        try:
            source = ledger.log_id if ledger is not None and ledger.log_id else await self._source_id()
            if source == await self._site.log.identity(self._site.topics.package):
                raise ConfigError(f"relay {self._relay!r} would append to the log that it reads; choose another --to")
        except LogError as error:
            raise RepositoryUnavailable(f"relay {self._relay} cannot look up where it was: {error}") from error
        found = await self._forwarding.place(ledger, source, self._new_id)
        if ledger is None and found is not None:
            await self._held().save(codec.encode(found))  # its name is claimed in the name of this ledger
        return found

    async def _import(self, effect: ImportPackages, spans: Sequence[Span]) -> Ledger:  # noqa: ARG002 - hooks need them
        """Append the packages, then store the ledger: if the relay dies between the two, they are found at the site."""
        await self._held().save(codec.encode(effect.attempt), durable=False)
        source = effect.ledger.log_id
        known = await self._forwarding.catch_up(effect.ledger, source)
        if known.site_relayed != self._verified_to:
            await self._demand_from_source(known, source)
        due = self._forwarding.due(effect.packages, effect.records, known)
        if due:
            await self._bring_blobs(due, effect.parallel)
            if effect.permit.is_over(self._time.now().mono_s):
                raise NameLapsed("the lease on the name expired; it is relayed once the name is held again")
            known = await self._forwarding.append(due, known, source)
        self._verified_to = known.site_relayed
        await self._held().save(codec.encode(known))
        return known

    async def _demand_from_source(self, known: Ledger, source: str) -> None:
        try:
            await self._forwarding.demand_from(self._log, self._source_topics.package, known, source)
        except LogError as error:
            raise RepositoryUnavailable(f"relay {self._relay} cannot look up where it was: {error}") from error

    async def _bring_blobs(self, due: Due, parallel: int) -> None:
        digests = [each for it, _ in due for each in (*needed_blobs(it), it.content_ref) if each]
        async with self._spooled(bool(digests)) as spool:
            await bring_all(digests, self._blobs, self._site.blobs, spool, parallel)

    async def _survey(self, ledger: Ledger) -> SiteReport:
        offsets = Offsets(self._site.log, self._site.topics.package, self._relay, ledger.log_id)
        try:
            async with asyncio.timeout(SURVEY_MAX_S):  # else a log that hangs looks like one without news
                found = await survey(await self._site.members(), offsets, ledger.offset)
                await self._forwarding.check(ledger, ledger.log_id)  # those of another log say nothing of this one
        except TimeoutError as error:
            late = f"the log of site {self._relay} has not answered for {SURVEY_MAX_S:g} s"
            raise RepositoryUnavailable(f"{late}; check its server and the network") from error
        return replace(found, time_ns=self._time.now().wall_ns)

    async def _source_id(self) -> str:
        return await self._log.identity(self._source_topics.package)
