"""A service that tells what becomes of its membership, as a process of its own: ``telling_service LOG FOLDER OPTIONS``.

It writes a line of JSON for each thing that happens. SIGUSR1 blocks its event loop until there is a file ``released``
in the folder.
"""

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from callboard import Callboard, LeadershipLost, MembershipEnded, TopologyEvent


def tell(what: str, **more: Any) -> None:
    sys.stdout.write(json.dumps({"what": what, "at_ns": time.monotonic_ns()} | more) + "\n")
    sys.stdout.flush()


async def told(event: TopologyEvent) -> None:
    view = event.new
    members = [each.instance for each in view.local_cluster.instances] if view else []
    tell(event.kind, members=members, epoch=view.epoch if view else -1)


def block(released: Path) -> None:
    tell("blocked")
    while not released.exists():
        time.sleep(0.01)
    released.unlink()


async def main(log: str, folder: Path, options: Any) -> None:
    board = Callboard(log, blobs="./blobs", base=folder)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, block, folder / "released")
    try:
        async with board, board.member(min_event_delay_s=0, **options) as member:
            tell("started", instance=member.topology().local_instance.instance)
            member.add_listener(told)
            while True:
                try:
                    async with member.leader_lease() as token:
                        tell("leads", epoch=token.leader_epoch, log_id=token.log_id)
                        await asyncio.Event().wait()
                except LeadershipLost:
                    tell("stops")
    except MembershipEnded as error:
        tell("ended", code=error.code, why=str(error))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])))
