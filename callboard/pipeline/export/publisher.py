"""Appends the packages of an export to the log, in order; only one process does so."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from callboard.actors.publisher.intake.request import with_identity
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.board.command.resending import renew
from callboard.content.collection import GRACE_MIN_S
from callboard.content.ship import Shipment
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.pipeline.export.folder import Job, Progress

BATCH_RECORDS = 100
"""Records appended in one transaction: a larger batch makes none of them cheaper."""

BATCH_BYTES = 4 << 20
"""Likewise."""

RENEW_NS = int(GRACE_MIN_S * 1e9) // 2
"""Blobs put longer ago are put again before a package refers to them, because they might be collected."""


class ExportPublisher:
    """Publishes the parts of one job.

    Args:
        log: open.
        blobs: open; holds what the parts refer to.
        topic: of the packages.
        job: the export.
        user: on whose behalf.
        clock: nanoseconds since the epoch.
    """

    def __init__(self, log: Log, blobs: BlobStore, topic: str, job: Job, user: str, clock: Callable[[], int]) -> None:
        self._log, self._blobs, self._topic = log, blobs, topic
        self._job, self._user, self._clock = job, user, clock

    async def catch_up(self, known: Progress) -> Progress:
        """How far the job is on the log: an earlier run may have died before it saved its progress."""
        following, last = known.next, known.end
        # What an earlier run appended and a trim removed since is appended again.
        async for record in between(self._log, self._topic, last, (await self._log.bounds(self._topic)).end):
            name, _, sequence = record.header("cause").rpartition("/")
            if record.header("publisher") != self._job.publisher or name != self._job.job:
                continue
            if sequence.isdecimal() and int(sequence) >= following:
                following, last = int(sequence) + 1, record.offset + 1
        return Progress(following, last)

    async def publish(self, parts: Sequence[dict[str, Any]]) -> AsyncIterator[Progress]:
        """Append the parts batch by batch, and yield the progress after each.

        Raises ``RequestRefused`` if a blob is gone, and ``LogUnavailable``.
        """
        for batch in _batches(parts):
            records = []
            for part in batch:
                package = self._package(part)
                if self._clock() - part["built_ns"] > RENEW_NS:
                    await renew(self._blobs, package)
                records.append(
                    new_record(
                        package,
                        record_id=package.package_id,
                        time_ns=self._clock(),
                        producer=f"export/{self._user}",
                        key=package.package_id,
                        cause=package.request_id,
                    )
                )
            offsets = await self._log.append(self._topic, records)
            yield Progress(batch[-1]["sequence"] + 1, max(offsets) + 1)

    def _package(self, part: dict[str, Any]) -> PackageMessage:
        shipped = {field.name: part[field.name] for field in fields(Shipment)}
        kind, paths, deep = Kind[part["kind"]], tuple(part["paths"]), tuple(part["deep_paths"])
        request = DistributeRequest(
            request_id=f"{self._job.job}/{part['sequence']}", kind=kind, paths=paths, deep_paths=deep,
            source=self._job.source, user=self._user,
        )  # fmt: skip
        shipped |= {"paths": paths, "deep_paths": deep, "blobs": tuple(part["blobs"])}
        shipped["total_bytes"] = part["total_bytes"] or 0  # missing if an older version built it
        built = PackageMessage(publisher_instance="", publisher="", package_id="", kind=kind, **shipped)
        return with_identity(built, request, self._job.publisher, f"export {self._job.job}")


def _batches(parts: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for part in parts:
        length = len(part["content"]) + sum(map(len, part["paths"])) + 64 * len(part["blobs"])
        if batch and (len(batch) == BATCH_RECORDS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += length
    if batch:
        yield batch
