"""Members of a cluster in processes, for the benchmarks of clusters. Each reports what it saw, and when.

In a process of several members, each has its own handle on the log, and reads, decodes and judges every record, as in a
process of its own; ``together``, they are on one board and share what they read, as in a service with several members.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Self

from callboard import Callboard, LeadershipLost, Member, TopologyEvent, TopologyEventKind
from callboard.actors.topology import cluster_fold, reducer, reporting, snapshots
from callboard.actors.topology.member import view_keeper
from callboard.messages.topology.reading import read

SPAWN = get_context("spawn")
LEADS = "leads"
AGREED = (TopologyEventKind.INIT, TopologyEventKind.CHANGED)
AT_ONCE = 100
"""Members of one process that join before the next ones do."""
MET_S = 300.0
TICK_S = 0.01


class Seen(NamedTuple):
    """What a member was notified of, and when by the clock that all processes share."""

    kind: str
    instance: str
    members: int
    at_ns: int


class Process:
    """A process with these members."""

    def __init__(self, log: str, folder: Path, names: list[str], options: dict[str, Any], *, together: bool) -> None:
        self.names = names
        self.ear, told = SPAWN.Pipe(duplex=False)
        stop, self._stop = SPAWN.Pipe(duplex=False)
        self.process = SPAWN.Process(target=_run, args=(log, folder, names, options, together, told, stop), daemon=True)
        self.process.start()
        told.close()

    def leave(self) -> None:
        """Have its members leave the cluster."""
        self._stop.send(None)

    def crash(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()

    def cpu_s(self) -> float:
        """The processor time that it has used."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * TICK_S


class Cluster:
    """The processes of one cluster, one for each group of members."""

    def __init__(
        self, log: str, folder: Path, groups: list[list[str]], *, together: bool = False, **options: Any
    ) -> None:
        self.processes = [Process(log, folder, names, options, together=together) for names in groups]
        self._running = {each.ear: each for each in self.processes}
        self._gone: list[Process] = []
        self.seen: list[Seen] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self.processes, *self._gone):
            each.process.kill()
            each.process.join()

    def leader(self) -> str:
        """The newest leader."""
        return next(each.instance for each in reversed(self.seen) if each.kind == LEADS)

    def dismiss(self, name: str) -> Process:
        """The process of this member, which from now on does not count as one of the cluster's."""
        (gone,) = (each for each in self.processes if name in each.names)
        self.processes.remove(gone)
        self._gone.append(gone)
        return gone

    def agreed(self, members: int, after_ns: int = 0) -> int:
        """When the last listener was notified of this number of members."""
        names = {name for each in self.processes for name in each.names}

        def told() -> dict[str, int]:
            found = [each for each in self.seen if each.kind in AGREED and each.members == members]
            return {each.instance: each.at_ns for each in found if each.instance in names and each.at_ns > after_ns}

        self._until(lambda: told().keys() == names)
        return max(told().values())

    def led(self, after_ns: int = 0) -> int:
        """When the next one began to lead."""

        def times() -> list[int]:
            return [each.at_ns for each in self.seen if each.kind == LEADS and each.at_ns > after_ns]

        self._until(lambda: bool(times()))
        return times()[0]

    def run(self, seconds: float) -> None:
        """Let the members run."""
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            self._listen(left_s)

    def cpu_s(self) -> float:
        """The processor time of all processes."""
        return sum(each.cpu_s() for each in self.processes)

    def _until(self, met: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + MET_S
        while not met():
            assert time.monotonic() < deadline_s, f"not so after {MET_S} s"
            self._listen(1.0)

    def _listen(self, wait_s: float) -> None:
        for ear in connection.wait(self._running, wait_s):
            try:
                self.seen.append(ear.recv())  # type: ignore[union-attr]
            except EOFError:  # it has ended
                del self._running[ear]  # type: ignore[arg-type]


def _run(
    log: str, folder: Path, names: list[str], options: dict[str, Any], together: bool,
    told: Connection, stop: Connection,
) -> None:  # fmt: skip
    async def main() -> None:
        async with AsyncExitStack() as stack:
            for number, name in enumerate(names, 1):
                if number == 1 or not together:
                    board = await stack.enter_async_context(Callboard(log, blobs="./blobs", base=folder))
                member = board.member(instance=name, **options)
                member.add_listener(partial(_tell, told, name))
                await stack.enter_async_context(member)
                stack.callback(asyncio.create_task(_lead(member, told, name)).cancel)
                if number % AT_ONCE == 0:
                    await member.settled(timeout_s=MET_S)
            await asyncio.to_thread(stop.recv)

    if not together:
        _keep_apart()
    asyncio.run(main())


def _keep_apart() -> None:
    """Have members share nothing that they compute."""
    for module in (cluster_fold, snapshots, view_keeper):
        vars(module)["read"] = read.__wrapped__
    vars(cluster_fold).update(_step=reducer.step, _renewed=reducer.renewed, _acknowledged=reporting.acknowledged)


async def _tell(told: Connection, name: str, event: TopologyEvent) -> None:
    members = len(event.new.local_cluster.instances) if event.new else 0
    told.send(Seen(event.kind, name, members, time.monotonic_ns()))


async def _lead(member: Member, told: Connection, name: str) -> None:
    while True:
        with suppress(LeadershipLost):
            async with member.leader_lease():
                told.send(Seen(LEADS, name, 0, time.monotonic_ns()))
                await asyncio.Event().wait()
