"""A listener as a process of its own: ``listening_service NAME LOG FOLDER``.

Each event that it has handled adds a line with its number to ``NAME.heard`` in the folder. Once it listens, there is
``NAME.up``.
"""

import asyncio
import os
import sys
from pathlib import Path

from callboard import Callboard


async def main(name: str, log: str, folder: Path) -> None:
    heard = os.open(folder / f"{name}.heard", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    async with Callboard(log, blobs="./blobs", base=folder) as board, board.events.listen("a/*", name=name) as events:
        (folder / f"{name}.up").touch()
        async for event in events:
            os.write(heard, f"{event.properties['n']}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
