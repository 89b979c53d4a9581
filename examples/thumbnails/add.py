"""Has the workers look for pictures, now and every minute.

    python add.py

It tells what becomes of the pictures that there are now. If it is killed, that changes nothing for the workers.
"""

import asyncio

from thumbnails import look

from callboard import Callboard

PATIENCE_S = 600.0


async def main() -> None:
    """Set the schedule, which stays as it is if it is set already, and wait for the jobs."""
    async with Callboard.from_config() as board:
        await board.jobs.schedule("pictures", look.topic, every_s=60, unique="pictures")
        looked = await board.jobs.wait((await look.add(board)).id, timeout_s=PATIENCE_S)
        print(f"{len(looked.result)} pictures have no thumbnail yet")
        for job in looked.result:
            done = await board.jobs.wait(job, timeout_s=PATIENCE_S)
            print(f"{done.state.name.lower()}: {done.result or done.message}")


if __name__ == "__main__":
    asyncio.run(main())
