"""How Apache Sling's journal imports, on the log and the repositories of this project: a peer for ``catch_up.py``.

One loop does everything, one package after another, and waits for each step:

1. send a stored, unsent status, one record; commit that it was sent;
2. commit content, status and offset together;
3. send that status and commit that, as in 1 (so 1 has work only after a crash);
4. announce the subscriber, one record.

A subscriber whose queue cannot be cleared stores no status, so it has one commit and one record less.

Other work of the original is left out, in its favour: the four or five repository sessions of each package, and its
whole error handling. Records are read in pages, as a Kafka consumer gets them.
"""

from dataclasses import replace
from pathlib import Path

from callboard.actors.subscriber.importing.received import Received, received
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repository import Repository
from callboard.content.ship import receive
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, Status, SubscriberConfiguration
from callboard.messages.headers import new_record

POLL_RECORDS = 500
"""The maximum that one poll of a Kafka consumer returns."""


class OriginalLoop:
    """A subscriber of the original. ``time_ns`` is the time in the records that it writes."""

    def __init__(
        self,
        settings: SubscriberSettings,
        log: Log,
        blobs: BlobStore,
        repository: Repository,
        spool: Path,
        time_ns: int,
    ) -> None:
        self._settings, self._log, self._blobs, self._repository = settings, log, blobs, repository
        self._spool, self._time_ns = spool, time_ns
        self._producer = f"{settings.name}/original"
        self._ledger = Ledger(instance="original", subscriber=settings.name)

    async def run(self, packages: int) -> None:
        """Import that many packages from the start of the log, which must have them."""
        topic = self._settings.topics.package
        await self._repository.open()
        start = (await self._log.bounds(topic)).first
        while packages > 0:
            records = await self._log.read(topic, start, min(POLL_RECORDS, packages))
            start, packages = records[-1].offset + 1, packages - len(records)
            for record in records:
                await self._process(received(record, self._settings))

    async def _process(self, it: Received) -> None:
        await self._send_stored_status()
        if it.message is None:
            return
        after = ledger_changes.finished(
            self._ledger, it, Status.IMPORTED, publish=self._settings.editable, now_ns=self._time_ns
        )
        async with receive(it.message, self._blobs, self._spool) as received:
            await self._repository.apply(received.operations(), codec.encode(after))
        self._ledger = after
        await self._send_stored_status()
        await self._announce()

    async def _send_stored_status(self) -> None:
        for status in self._ledger.outbox:  # there is one at most
            key = f"{self._settings.name}/{status.sequence}"
            record = new_record(status, record_id=key, key=key, time_ns=self._time_ns, producer=self._producer)
            await self._log.append(self._settings.topics.status, [record])
            self._ledger = replace(self._ledger, outbox=())
            await self._repository.save(codec.encode(self._ledger))

    async def _announce(self) -> None:
        message = DiscoveryMessage(
            subscriber_instance="original",
            subscriber=self._settings.name,
            configuration=SubscriberConfiguration(editable=self._settings.editable, max_retries=-1),
            state=State.IMPORTING,
            offset=self._ledger.offset,
            time_ns=self._time_ns,
        )
        record = new_record(message, record_id=str(message.offset), time_ns=self._time_ns, producer=self._producer)
        await self._log.append(self._settings.topics.discovery, [record])
