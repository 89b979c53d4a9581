"""A service that writes to a repository while it leads: ``leader_process.py FOLDER INSTANCE``.

It says ``leads`` and then waits for a line on standard input without letting anything else run, like a process that is
suspended just before it writes. Then it writes at once, and says ``wrote`` or ``refused``.
"""

import asyncio
import sys
from pathlib import Path

from callboard import Callboard, LeaderReplaced, Token
from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.testing.conformance.repository.harness import file


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def write(folder: Path, instance: str, token: Token) -> str:
    store = SqliteStore(folder / "site.db")
    store.open()
    try:
        store.apply([file("/leader", instance)], instance.encode(), token)
    except LeaderReplaced:
        return "refused"
    finally:
        store.close()
    return "wrote"


async def main(folder: Path, instance: str) -> None:
    async with (
        Callboard("sqlite:///./board.db", base=folder) as board,
        board.member(instance=instance, lease_s=1.5, renew_s=0.2) as member,
        member.leader_lease() as token,
    ):
        say("leads")
        sys.stdin.readline()
        say(write(folder, instance, token))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
