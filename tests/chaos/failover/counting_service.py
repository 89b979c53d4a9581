"""A service whose leader counts, as a process of its own: ``counting_service INSTANCE LOG COUNTERS FOLDER``.

Once it is in the cluster, it makes the file ``INSTANCE.up`` in the folder.
"""

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path

from callboard import Callboard, LeaderReplaced, LeadershipLost, Token
from tests.chaos.failover.counters import ADMIT, NOTE, UNREACHABLE, Counters, Event, opened

READ_TO_WRITE_S = 0.03
AGAIN_S = 0.1


async def count(counters: Counters, token: Token, instance: str) -> None:
    """Count as long as the token is admitted."""
    if not await counters.fetch(ADMIT, token.log_id, token.leader_epoch):  # written before anything is read
        raise LeaderReplaced("another leader counts now")
    while True:
        before = dict([tuple(row) for row in await counters.fetch("SELECT name, value FROM counters")])
        await asyncio.sleep(READ_TO_WRITE_S)
        for name in ("unguarded", "guarded"):
            event = Event(name, before[name] + 1, token.leader_epoch, instance, time.monotonic_ns())
            await counters.write(name, event, token)


async def note_end(url: str, error: Exception, epoch: int, instance: str) -> None:
    """Write down how a leadership ended, once the database lets us."""
    kinds = {LeaderReplaced: "refused", LeadershipLost: "cancelled"}
    event = Event(kinds.get(type(error), "failed"), 0, epoch, instance, time.monotonic_ns())
    while True:
        with suppress(*UNREACHABLE):
            async with opened(url) as counters:
                await counters.fetch(NOTE, *event)
                return
        await asyncio.sleep(AGAIN_S)


async def main(instance: str, log: str, url: str, folder: Path) -> None:
    board = Callboard(log, blobs="./blobs", base=folder)
    async with board, board.member(instance=instance, profile="fast") as member:
        await member.settled()
        (folder / f"{instance}.up").touch()
        epoch = -1
        while True:
            try:
                async with member.leader_lease() as token:
                    epoch = token.leader_epoch
                    async with opened(url) as counters:
                        await count(counters, token, instance)
            except (LeadershipLost, *UNREACHABLE) as error:
                await note_end(url, error, epoch, instance)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], Path(sys.argv[4])))  # type: ignore[arg-type,misc]
