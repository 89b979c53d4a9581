"""Appends packages to the log of a relay's site, each once."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from callboard.actors.worlds.relay.offsets import Offsets
from callboard.actors.worlds.relay.site_board import SiteBoard
from callboard.backends.log import Log
from callboard.errors import ConfigError, LogError, PackageRefused, RecordTooLarge, RepositoryUnavailable
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.record import Record
from callboard.messages.relayed import has_passed, is_too_far, relayed

Due = Sequence[tuple[PackageMessage, Record]]
"""Packages to append, each with the record that it was read from."""


class Forwarding:
    """What a relay has put on its site's log.

    The site's log itself says what is there: before each append, what was appended since the last one is searched for
    packages of this relay. So each is appended once, even if the relay died between the append and its ledger, or
    another host had its name meanwhile. Where logs know keys, they also refuse what a suspended process appends late.
    """

    def __init__(self, relay: str, site: SiteBoard, *, everything: bool = False) -> None:
        self._relay, self._site, self._everything = relay, site, everything
        self._topic = site.topics.package
        self._known: Ledger | None = None  # the last one returned, which may not have been stored
        self._searched = -1  # up to here, what others appended is not searched again

    async def place(self, ledger: Ledger | None, source: str, new_id: Callable[[], str]) -> Ledger | None:
        """The ledger to begin with, which is of the package log ``source``. Without one, a relay goes on after the last
        package of its name at the site.

        Raises ``RepositoryUnavailable`` if the site's log is not the one of the ledger, or lost what was relayed, and
        ``ConfigError`` if the ledger is another relay's, or another one has put there what this one would.
        """
        if ledger is not None and ledger.subscriber != self._relay:
            raise ConfigError(
                f"the ledger is that of relay {ledger.subscriber!r}, and this one is {self._relay!r}; start it as "
                f"{ledger.subscriber!r}, or with another ledger"
            )
        async with self._site_log():
            log_id = await self._site.log.identity(self._topic)
            if ledger is None or not ledger.site_log_id:
                last = await self._offsets(source).last()
                begins = self._everything and (ledger is None or not ledger.positioned)
                if last is None and begins and (other := await self._offsets(source).other()):
                    raise ConfigError(
                        f"relay {self._relay!r} is new at this site, and {other!r} has appended packages of the same "
                        f"log there: all would be there twice; start it as {other!r}, say with --start OFFSET where "
                        "to begin, or with --follow which packages to take"
                    )
                if ledger is None and last is not None:
                    ledger = Ledger(
                        instance=new_id(),
                        subscriber=self._relay,
                        log_id=source,
                        positioned=True,
                        offset=last.source_offset,
                    )
                relayed_to, at = (last.source_offset, last.record.offset) if last else (-1, -1)
                return ledger and replace(ledger, site_log_id=log_id, site_next=at + 1, site_relayed=relayed_to)
        await self.check(ledger, source)
        return ledger

    async def check(self, ledger: Ledger, source: str) -> str:
        """Check that this is the ledger's log, with what was relayed; return its identity. Raises as ``place``."""
        async with self._site_log():
            log_id = await self._site.log.identity(self._topic)
            if ledger.site_log_id not in ("", log_id):
                raise RepositoryUnavailable(
                    f"the log of site {self._relay} ({log_id[:8]}) is not the one in the ledger "
                    f"({ledger.site_log_id[:8]}): it was replaced, or the ledger is another relay's; to fill this log "
                    "from the oldest package on, start the relay with another ledger"
                )
            if not await self._has_last(ledger, source):
                raise RepositoryUnavailable(
                    f"the log of site {self._relay} was set back to an older copy: offset {ledger.site_next - 1}, "
                    "which this relay appended, is not there any more; to append what is missing, start the relay "
                    "with another ledger"
                )
        return log_id

    async def _has_last(self, ledger: Ledger, source: str) -> bool:
        """Whether the last package that was relayed is still there, if the topic reaches back to it."""
        first, end = await self._site.log.bounds(self._topic)
        at = ledger.site_next - 1
        if ledger.site_relayed < 0 or at < first:
            return ledger.site_next <= end
        found = await self._offsets(source).at(at)
        return found is not None and found.source_offset == ledger.site_relayed

    async def catch_up(self, ledger: Ledger, source: str) -> Ledger:
        """The ledger that knows all packages of this relay at the site, of any process. Raises as ``place``."""
        ledger = self._remembered(ledger, source)
        log_id = await self.check(ledger, source)
        async with self._site_log():
            at, relayed_to = ledger.site_next - 1, ledger.site_relayed
            end = (await self._site.log.bounds(self._topic)).end
            start = self._searched if at < self._searched <= end else at + 1
            async for found in self._offsets(source).since(max(start, 0), end):
                if found.source_offset > relayed_to:  # not what a suspended process has appended late
                    at, relayed_to = found.record.offset, found.source_offset
            self._searched = end
        return self._learned(ledger, log_id, at + 1, relayed_to)

    def _remembered(self, ledger: Ledger, source: str) -> Ledger:
        """The ledger, with what was found or appended since it was stored."""
        known = self._known
        if known is None or known.log_id != source or ledger.site_log_id not in ("", known.site_log_id):
            self._searched = -1
            return ledger
        if known.site_next <= ledger.site_next:
            return ledger
        return self._learned(ledger, known.site_log_id, known.site_next, known.site_relayed)

    def _learned(self, ledger: Ledger, log_id: str, site_next: int, site_relayed: int) -> Ledger:
        self._known = replace(ledger, site_log_id=log_id, site_next=site_next, site_relayed=site_relayed)
        return self._known

    async def demand_from(self, log: Log, topic: str, ledger: Ledger, source: str) -> None:
        """Check that the newest package relayed to the site is still at its offset on the source, unless one of the two
        logs has trimmed it.

        Raises ``RepositoryUnavailable`` if it is another one, or past the end: what the older copy of a log got since
        would count as relayed.
        """
        if ledger.site_relayed < 0:
            return
        async with self._site_log():
            there = await self._offsets(source).first_since(max(ledger.site_next - 1, 0))
        if there is None or there.source_offset != ledger.site_relayed:
            return  # trimmed at the site
        first, end = await log.bounds(topic)
        if there.source_offset < first:
            return
        records = await log.read(topic, there.source_offset, 1) if there.source_offset < end else []
        if [each.header("id") for each in records if each.offset == there.source_offset] != [there.record.header("id")]:
            raise RepositoryUnavailable(
                f"offset {there.record.offset} of site {self._relay} was relayed from offset {there.source_offset}, "
                "and this log has another record there, or none: it was set back to an older copy, or a writer at "
                "the site forged its path; restore this log, or start a relay of another name with --start OFFSET, "
                "which appends all from there once more"
            )

    @staticmethod
    def due(packages: Sequence[PackageMessage], records: Sequence[Record], ledger: Ledger) -> Due:
        """The packages to append: not yet at the site, and never on its log."""
        return [
            (message, record)
            for message, record in zip(packages, records, strict=True)
            if record.offset > ledger.site_relayed and not has_passed(record, ledger.site_log_id)
        ]

    async def append(self, due: Due, ledger: Ledger, source: str) -> Ledger:
        """Append them together; the blobs that they refer to must be there. Returns the ledger that knows them.

        Raises ``PackageRefused`` for what the site's log cannot hold.
        """
        for _, record in due:
            if is_too_far(record, source):
                raise PackageRefused(f"offset {record.offset} came through more logs than its header can name; skip it")
        async with self._site_log():
            try:
                records = [relayed(record, message, self._relay, source) for message, record in due]
                offsets = await self._site.log.append(self._topic, records)
            except RecordTooLarge as error:
                raise PackageRefused(f"the log of site {self._relay} cannot hold the package: {error}") from error
        return self._learned(ledger, ledger.site_log_id, offsets[-1] + 1, due[-1][1].offset)

    def _offsets(self, source: str) -> Offsets:
        return Offsets(self._site.log, self._topic, self._relay, source)

    @asynccontextmanager
    async def _site_log(self) -> AsyncIterator[None]:
        try:
            yield
        except LogError as error:
            raise RepositoryUnavailable(f"the log of site {self._relay} cannot be used: {error}") from error
