"""Moves money between accounts by three services, which are killed again and again. No cent is lost or made.

python transfers.py
"""

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from itertools import count
from multiprocessing import get_context, parent_process
from multiprocessing.context import SpawnProcess
from pathlib import Path
from random import Random

from bank import Account, Balances, Deposit, Phase, Transfer, TransferMovedOn, TransferOrder, TransferOrdered

from callboard import Callboard
from callboard.actors import Event, Projection, Recorded, event

SERVICES, KILLS, BETWEEN_S = 3, 6, 2.0
ACCOUNTS, CENTS = 50, 100_00
TOGETHER = 5
"""Transfers that a service orders at once."""

DEADLINE_S = 120.0
"""For what takes some seconds: what a killed service had begun is taken over by the others after 5 s."""


@event("bank.transfer_row", version=1)
class TransferRow(Event):
    """A row: what a transfer does."""

    phase: Phase = Phase.NEW


class Transfers(Projection[TransferRow]):
    """The table ``bank_transfer_row``."""

    sources = (Transfer,)

    def evolve(self, key: str, row: TransferRow | None, recorded: Recorded) -> TransferRow:
        match recorded.event:
            case TransferOrdered():
                return TransferRow(phase=Phase.TAKING)
            case TransferMovedOn(phase=phase):
                return TransferRow(phase=phase)
        return row or TransferRow()


def serve(folder: Path, name: str) -> None:
    """A service: it runs in a process of its own, until that is killed."""
    asyncio.run(order(folder, name))


async def order(folder: Path, name: str) -> None:
    """Order transfers until it is enough, and carry out those of everybody."""
    async with Callboard("sqlite:///./log", base=folder) as board:
        accounts = board.entities(Account, snapshots="sqlite:snapshots.db")
        transfers = board.entities(Transfer, snapshots="sqlite:snapshots.db")
        tables = [board.projection(each, into="sqlite:tables.db") for each in (Balances, Transfers)]
        for its in (accounts, transfers, *tables):
            await its.start()
        random = Random(name)
        for number in count():
            if (folder / "enough").exists():
                break
            orders = []
            for place in range(TOGETHER):
                source, target = random.sample(range(ACCOUNTS), 2)
                command = TransferOrder(source=f"{source}", target=f"{target}", cents=random.randint(1, CENTS))
                orders.append(transfers.send(f"{name}, {number}, {place}", command))
            await asyncio.gather(*orders)
        parent = parent_process()
        assert parent is not None
        await asyncio.to_thread(parent.join)


class Services:
    """The processes; all are killed in the end."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._starts = folder, count()
        self.running: list[SpawnProcess] = [self._start() for _ in range(SERVICES)]

    def _start(self) -> SpawnProcess:
        process = get_context("spawn").Process(target=serve, args=(self._folder, f"service {next(self._starts)}"))
        process.start()
        return process

    def kill(self, place: int) -> None:
        """Kill one, and start another one."""
        if self.running[place].exitcode is not None:
            raise RuntimeError("a service has ended by itself; its error is above")
        self.running[place].kill()
        self.running[place].join()
        self.running[place] = self._start()

    def close(self) -> None:
        """Kill all."""
        for process in self.running:
            process.kill()
            process.join()


def phases(file: Path) -> Counter[Phase]:
    """How many transfers are in each phase, by the table."""
    with closing(sqlite3.connect(file)) as connection:
        found = connection.execute("SELECT phase, count(*) FROM bank_transfer_row GROUP BY phase")
        return Counter({Phase(phase): many for phase, many in found})


def in_accounts(file: Path) -> int:
    """The sum of all balances, by the table."""
    with closing(sqlite3.connect(file)) as connection:
        (cents,) = connection.execute("SELECT sum(cents) FROM bank_balance").fetchone()
        return int(cents)


async def until_all_have_ended(board: Callboard, file: Path) -> Counter[Phase]:
    """Wait until no transfer is under way, and the tables have everything."""
    tables = [board.projection(each, into="sqlite:tables.db") for each in (Balances, Transfers)]
    async with asyncio.timeout(DEADLINE_S):
        while True:
            behind = [offsets for each in tables for offsets in (await each.status()).behind.values()]
            found = phases(file)
            if not any(behind) and not found.keys() - {Phase.DONE, Phase.FAILED}:
                return found
            await asyncio.sleep(0.1)


async def play(folder: Path) -> bool:
    """Fill the accounts, let services move the money, kill them, and look at the sum."""
    began_s, tables = time.monotonic(), folder / "tables.db"
    async with Callboard("sqlite:///./log", base=folder) as board:
        accounts = board.entities(Account, runs=False)
        await asyncio.gather(*(accounts.send(f"{each}", Deposit(cents=CENTS)) for each in range(ACCOUNTS)))
        before = ACCOUNTS * CENTS
        services = Services(folder)
        try:
            for number in range(KILLS):
                await asyncio.sleep(BETWEEN_S)
                services.kill(number % SERVICES)
                print(f"{time.monotonic() - began_s:5.1f} s  kill -9 of a service; another one starts", file=sys.stderr)
            await asyncio.sleep(BETWEEN_S)
            (folder / "enough").touch()
            found = await until_all_have_ended(board, tables)
            after = in_accounts(tables)
        finally:
            services.close()
    done, failed = found[Phase.DONE], found[Phase.FAILED]
    print(
        f"bank demo: {found.total()} transfers by {SERVICES} services, {KILLS} killed; {done} are done, {failed} were "
        f"refused; {before} cents before, {after} after"
    )
    return before == after


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="callboard-bank-") as name:
        is_good = asyncio.run(play(Path(name)))
    sys.exit(0 if is_good else 1)
