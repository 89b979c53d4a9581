"""Passes commands on to the subscribers of a relay's site, and their results back."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from callboard.actors.subscriber.effects import CarryResults, ResultsCarried
from callboard.actors.worlds.relay.blobs import bring
from callboard.actors.worlds.relay.offsets import Offsets
from callboard.actors.worlds.relay.site_board import SiteBoard, SiteMember
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.errors import BlobMissing, OffsetOutOfRange, PackageError, SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import CommandMessage, CommandResultMessage
from callboard.messages.event import replaced
from callboard.messages.headers import SEPARATOR, new_record, open_record, usual_type
from callboard.messages.record import NewRecord, Record
from callboard.messages.relayed import key

WAIT_S = 5.0
"""Seconds of one wait for more results."""

LOOK_BACK = 1000
"""Offsets of the site's statuses that are read when a relay starts. A result that is older has lost its asker; one that
is carried twice has the same command id.
"""

Spooled = Callable[[bool], AbstractAsyncContextManager[Path]]
"""Makes a folder for temporary files, if one is wanted."""

RESULT = CommandResultMessage.__name__.encode()


class Commands:
    """Commands to subscribers of the site, which are named after it, as ``SITE/EDGE``."""

    def __init__(self, relay: str, site: SiteBoard, log: Log, blobs: BlobStore, status_topic: str) -> None:
        self._relay, self._site, self._log, self._blobs, self._status = relay, site, log, blobs, status_topic
        self._prefix = relay + SEPARATOR

    async def forward(self, command: CommandMessage, offset: int, source: str, now_ns: int) -> str:
        """Append the command, received at ``offset``, for the subscriber; its offsets become those of the site.

        Returns why that cannot be; empty if it is done.
        """
        name = command.subscriber.removeprefix(self._prefix)
        known = {each.name: each for each in await self._site.members()}
        target = known.get(name) or known.get(name.partition(SEPARATOR)[0])
        if target is None or (target.name != name and target.report is None):
            close = get_close_matches(name, known, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"it has: {', '.join(sorted(known)[:10]) or 'none'}"
            return f"site {self._relay} has no subscriber {name!r}; {advice}"
        there = await self._translated(command, source)
        if isinstance(there, str):
            return there
        message = await self._addressed(there, name, target)
        record = new_record(
            message, record_id=message.command_id, time_ns=now_ns, producer=self._relay,
            key=f"{key(self._relay, source, offset)}/command",
        )  # fmt: skip
        await self._site.log.append(self._site.topics.command, [record])
        return ""

    async def _translated(self, command: CommandMessage, source: str) -> CommandMessage | str:
        """The command with offsets of the site's log; or why there is none."""
        offsets = Offsets(self._site.log, self._site.topics.package, self._relay, source)
        if command.clear is not None:
            behind = await offsets.first_from_source(command.clear.offset + 1)
            last = await offsets.last(behind.record.offset if behind is not None else None)
            if last is None:
                what = f"nothing up to offset {command.clear.offset} that was relayed is on the log of {self._relay}"
                return f"{what}; see `callboard status {self._relay}` for what is relayed"
            return replaced(command, clear=replace(command.clear, offset=last.record.offset))
        about = command.skip or (command.retry if command.retry and command.retry.offset >= 0 else None)
        if about is None:
            return command
        found = await offsets.first_from_source(about.offset)
        if found is None or found.source_offset != about.offset:
            what = f"offset {about.offset} was not relayed to site {self._relay}"
            return f"{what}; see `callboard status {self._relay}` for what is relayed"
        kind = "skip" if command.skip is not None else "retry"
        return replaced(command, **{kind: replace(about, offset=found.record.offset)})

    async def _addressed(self, command: CommandMessage, name: str, target: SiteMember) -> CommandMessage:
        log_id = await self._site.log.identity(self._site.topics.package)
        return replaced(
            command,
            subscriber=name,
            subscriber_instance=target.instance,
            command_id=f"{self._prefix}{command.command_id}" if command.command_id else "",
            log_id=log_id,
            position=target.offset if target.name == name else -1,
        )

    async def carry(self, effect: CarryResults, source: str, spooled: Spooled, now_ns: int) -> ResultsCarried:
        """Append the results of forwarded commands to the log that they came from; wait if there are none yet."""
        log, topic = self._site.log, self._site.topics.status
        log_id = await log.identity(topic)
        first, end = await log.bounds(topic)
        start = effect.start if log_id == effect.log_id else max(first, end - LOOK_BACK)
        if start >= end and not await log.wait(topic, start, WAIT_S):
            return ResultsCarried(log_id, start)
        try:
            records = await log.read(topic, start)
        except OffsetOutOfRange as error:
            return ResultsCarried(log_id, error.first if start < error.first else -1)
        found = [(result, record) for record in records if (result := self._result(record)) is not None]
        if listings := [result.listing_ref for result, _ in found if result.listing_ref]:
            async with spooled(True) as spool:
                for digest in listings:
                    await self._bring_listing(digest, spool)
        offsets = Offsets(log, self._site.topics.package, self._relay, source)
        carried = [await self._carried(result, record, log_id, offsets, now_ns) for result, record in found]
        if carried:
            await self._log.append(self._status, carried)
        return ResultsCarried(log_id, records[-1].offset + 1 if records else max(start, end))  # it may end in a gap

    def _result(self, record: Record) -> CommandResultMessage | None:
        if usual_type(record) != RESULT:
            return None
        try:
            result = open_record(record, CommandResultMessage)
        except (Undecodable, SchemaTooNew):
            return None
        return result if result.command_id.startswith(self._prefix) else None

    async def _carried(
        self, result: CommandResultMessage, record: Record, log_id: str, offsets: Offsets, now_ns: int
    ) -> NewRecord:
        last = await offsets.last()
        here = await offsets.processed(result.offset, otherwise=last.source_offset if last is not None else -1)
        command_id = result.command_id.removeprefix(self._prefix)
        message = replaced(result, subscriber=self._prefix + result.subscriber, command_id=command_id, offset=here)
        return new_record(
            message, record_id=self._prefix + record.header("id"), time_ns=now_ns, producer=self._relay,
            key=f"{self._prefix}{log_id}/{result.subscriber_instance}/{result.sequence}",  # a topic may repeat records
        )  # fmt: skip

    async def _bring_listing(self, digest: str, spool: Path) -> None:
        """Copy the listing for the asker. A missing or damaged one must not block other results; the asker finds out
        when reading it.
        """
        with suppress(BlobMissing, PackageError):
            await bring(digest, self._site.blobs, self._blobs, spool)
