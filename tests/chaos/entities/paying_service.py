"""A service as a process of its own: ``paying_service NAME LOG FOLDER``. It moves money between accounts until
``FOLDER/enough`` is there.

The id of each command is a line in ``NAME.sent`` before it is sent, and one in ``NAME.done`` once it is answered. A
restarted service first repeats the last one that is not done.
"""

import asyncio
import sys
from pathlib import Path
from random import SystemRandom

from callboard import Callboard, CommandRefused, NotAnswered
from callboard.errors import LogUnavailable
from tests.unit.actors.entities.bank import Account, Move

ACCOUNTS = 5
MOST = 20
TOGETHER = 8


def lines(path: Path) -> list[str]:
    """The whole lines of a file; none if there is none."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


async def main(name: str, log: str, folder: Path) -> None:
    sent, done, rng = folder / f"{name}.sent", folder / f"{name}.done", SystemRandom()
    waiting = [*dict.fromkeys(lines(sent)).keys() - {line.split()[0] for line in lines(done)}]
    async with Callboard(log, blobs="./blobs", base=folder) as board:
        accounts = board.entities(Account)
        with sent.open("a", buffering=1) as sending, done.open("a", buffering=1) as answered:

            async def carry_out(command: str) -> None:
                key, cents, _ = command.split("/")
                while True:
                    try:
                        found = await accounts.send(key, Move(cents=int(cents)), command_id=command, timeout_s=5)
                        answered.write(f"{command} {found.offset}\n")
                        return
                    except CommandRefused:
                        answered.write(f"{command} -1\n")
                        return
                    except (NotAnswered, LogUnavailable):
                        await asyncio.sleep(0.1)

            await asyncio.gather(*map(carry_out, waiting))
            while not (folder / "enough").exists():
                new = [
                    f"a{rng.randrange(ACCOUNTS)}/{rng.randint(-MOST, MOST)}/{rng.getrandbits(60):x}"
                    for _ in range(TOGETHER)
                ]
                sending.writelines(f"{command}\n" for command in new)
                await asyncio.gather(*map(carry_out, new))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
