"""The payloads of jobs, read from the records that added them."""

from callboard.messages.jobs.job_messages import JobsAddedMessage, offset_of, place_of

ENTRY_BYTES = 500
"""What one record takes besides its payloads."""


CACHED_BYTES = 16 << 20
"""Payloads that are kept in memory: those of jobs that run soon are usually among the latest."""


class Payloads:
    """The latest records that added jobs, up to ``CACHED_BYTES``."""

    def __init__(self) -> None:
        self._nbytes = 0
        self._records: dict[int, JobsAddedMessage] = {}

    def keep(self, offset: int, added: JobsAddedMessage) -> None:
        """Keep this record, and as many of those before as there is room for."""
        if offset not in self._records:
            self._nbytes += _nbytes(added)
        self._records[offset] = added
        while self._nbytes > CACHED_BYTES and len(self._records) > 1:
            self._nbytes -= _nbytes(self._records.pop(next(iter(self._records))))

    def find(self, job: int) -> tuple[JobsAddedMessage, int] | None:
        """The record that added the job, and the job's place in it; None if it has to be read."""
        added = self._records.get(offset_of(job))
        return (added, place_of(job)) if added is not None else None


def _nbytes(added: JobsAddedMessage) -> int:
    return ENTRY_BYTES + sum(map(len, added.payloads)) + 50 * len(added.payloads)
