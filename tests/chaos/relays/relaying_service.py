"""A relay as a process of its own: ``relaying_service NAME CENTRE SITE FOLDER``.

Its ledger is ``NAME.ledger`` in the folder. Once it relays, there is ``NAME.up``.
"""

import asyncio
import sys
from pathlib import Path

from callboard import Callboard
from callboard.actors.core.backoff import Backoff


async def main(name: str, centre: str, site: str, folder: Path) -> None:
    async with (
        Callboard(centre, blobs="./centre-blobs", base=folder) as source,
        Callboard(site, blobs="./site-blobs", base=folder) as there,
        source.relay(
            "berlin", there, ledger=f"sqlite:{folder}/{name}.ledger", retry=Backoff(first_s=0.1, max_s=1.0),
            standby=True, announce_interval_s=0.5, claim_ttl_s=2.0,
        ),
    ):  # fmt: skip
        (folder / f"{name}.up").touch()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])))
