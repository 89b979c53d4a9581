"""Rolls out a model: to the canary first, and to all other servers if the canary accepts it.

    python release.py MODEL.json

The model itself goes to all servers first, where nobody uses it yet. The release is a small package of its own, which
names the model: the file ``current.json``. So the canary can try a model before the release takes effect, and a server
switches to a model that it already has, by the rename of one file.
"""

import asyncio
import json
import shutil
import sys
from pathlib import Path

from callboard import Callboard, Publisher

SHIPPED = Path("shipped")


async def ship(models: Publisher, releases: Publisher, file: Path) -> int:
    """Publish the model, then the release; returns the offset of the latter."""
    (SHIPPED / "models").mkdir(parents=True, exist_ok=True)
    (SHIPPED / "release").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, SHIPPED / "models" / file.name)
    await models.publish(SHIPPED / "models", [f"/{file.name}"], at="/models", deep=False)
    (SHIPPED / "release" / "current.json").write_text(json.dumps({"model": file.stem}), encoding="utf-8")
    release = await releases.publish(
        SHIPPED / "release", ["/current.json"], deep=False, metadata={"model": file.stem}
    )
    return release.offset


async def verdict(board: Callboard, release: int) -> str:
    """What the canary says: the empty text if it has accepted the release, else why not."""
    async for event in board.events(after=-1, kinds=["imported", "failed"]):
        if event.subscriber == "canary" and event.offset == release:
            return event.reason if event.kind == "failed" else ""
    return "the board was closed"


async def main(file: Path) -> int:
    """Roll out, and tell what the canary says; the exit code."""
    async with Callboard.from_config() as board:
        release = await ship(board.publisher("models"), board.publisher("releases"), file)
        print(f"{file.stem} is on the log, at offset {release}, and waits for the canary")
        if refused := await verdict(board, release):
            print(f"refused: {refused}")
            return 1
        print("accepted by the canary; the other servers follow")
        return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
