"""A service as a process of its own: ``example_service NAME EXAMPLE LOG FOLDER SNAPSHOTS TABLES``. It keeps the
entities of an example and all that follows from them. Its clients send commands until ``FOLDER/enough`` is there, and
it goes on until it is asked to end.

The id of each command is a line in ``NAME.sent`` before it is sent, and one in ``NAME.done`` once it is answered, with
the offset; -1 if there is none. A restarted service first repeats those that are not done, and those in
``NAME.begun``: one that was sent twice may be refused and then carried out.
"""

import asyncio
import signal
import sys
from pathlib import Path
from random import SystemRandom

from callboard import Callboard, CommandRefused, NotAnswered
from callboard.errors import LogUnavailable
from tests.chaos.examples.stories import SERVICES, command, commands
from tests.examples.worlds import WORLDS

IN_MEMORY = 20
"""Entities of each class; there are more, so they come and go."""

TOGETHER = 4
"""Commands of a client that are on their way at once: later ones build on earlier ones."""

TWICE = 0.2
"""The share of commands that are sent twice at once."""


def lines(path: Path) -> list[str]:
    """The whole lines of a file; none if there is none."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


class Clients:
    """Send the commands of every third seed."""

    def __init__(self, board: Callboard, name: str, example: str, folder: Path, snapshots: str) -> None:
        self._folder, self._name, self._example = folder, name, example
        self._sent, self._done, self._begun = (folder / f"{name}.{what}" for what in ("sent", "done", "begun"))
        self._kept = {
            entity: board.entities(entity, snapshots=snapshots, in_memory=IN_MEMORY)
            for entity in WORLDS[example]["entities"]
        }
        self._rng = SystemRandom()

    async def run(self) -> None:
        """Send until it is enough."""
        for its in self._kept.values():
            await its.start()
        sent = lines(self._sent)
        waiting = dict.fromkeys(sent).keys() - {line.split()[0] for line in lines(self._done)}
        await self._carry_out([*waiting, *lines(self._begun)])
        seed = int(sent[-1].split("/")[1]) + SERVICES if sent else int(self._name[-1])
        while not (self._folder / "enough").exists():
            new = [each.id for each in commands(self._example, seed)]
            with self._sent.open("a", buffering=1) as sending:
                sending.writelines(f"{unique}\n" for unique in new)
            for begin in range(0, len(new), TOGETHER):
                await self._carry_out([*new[begin : begin + TOGETHER], *self._of_others()])
            seed += SERVICES

    def _of_others(self) -> list[str]:
        """A command that another service has sent: somebody tried again there, and then here."""
        others = [path for path in sorted(self._folder.glob("*.sent")) if path != self._sent]
        known = lines(self._rng.choice(others)) if others else []
        return [self._rng.choice(known)] if known else []

    async def _carry_out(self, wanted: list[str]) -> None:
        self._begun.write_text("".join(f"{unique}\n" for unique in wanted))
        twice = [unique for unique in wanted if self._rng.random() < TWICE]
        await asyncio.gather(*map(self._send, [*wanted, *twice]))

    async def _send(self, unique: str) -> None:
        its = command(unique)
        while True:
            try:
                found = await self._kept[its.entity].send(its.key, its.command, command_id=unique, timeout_s=5)
            except CommandRefused:
                return self._note(unique, -1)
            except (NotAnswered, LogUnavailable):
                await asyncio.sleep(0.1)
            else:
                return self._note(unique, found.offset)

    def _note(self, unique: str, offset: int) -> None:
        with self._done.open("a") as answered:
            answered.write(f"{unique} {offset}\n")


async def main(name: str, example: str, log: str, folder: Path, snapshots: str, tables: str) -> None:
    asked_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end.set)
    async with Callboard(log, blobs="./blobs", base=folder) as board:
        clients = Clients(board, name, example, folder, snapshots)
        for projection in WORLDS[example]["projections"]:
            await board.projection(projection, into=tables).start()
        for reaction in WORLDS[example].get("reactions", []):
            await board.reaction(reaction, into=tables).start()
        await clients.run()
        (folder / f"{name}.idle").touch()
        await asked_to_end.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], Path(sys.argv[4]), *sys.argv[5:]))
