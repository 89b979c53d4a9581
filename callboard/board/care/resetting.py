"""Sets the position of a stopped subscriber; its content stays as it is."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from callboard.actors.subscriber.ledger import ledger_changes
from callboard.backends.log import Log
from callboard.board.care.seeding import ledger_of, origin_of
from callboard.errors import OffsetOutOfRange
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Reset:
    """The next package is the one at ``next_offset``; -1 means where the subscriber's settings say."""

    subscriber: str
    before: int
    next_offset: int


async def reset(log: Log, topic: str, repository: str, base: Path, to: int | None) -> Reset:
    """Drop the position and everything tied to it, or set it to just before the offset ``to``.

    Raises ``OffsetOutOfRange`` for an offset that is not on the log, ``RepositoryBusy`` while the subscriber runs.
    """
    async with origin_of(repository, base) as (open_repository, stored):
        ledger = ledger_of(repository, stored)
        fresh = Ledger(instance=secrets.token_hex(16), subscriber=ledger.subscriber)
        if to is not None:
            first, end = await log.bounds(topic)
            if not first <= to <= end:
                raise OffsetOutOfRange(topic, to, first, end)
            fresh = ledger_changes.positioned(fresh, await log.identity(topic), to - 1)
        await open_repository.save(codec.encode(fresh))
        return Reset(ledger.subscriber, ledger.offset, -1 if to is None else to)
