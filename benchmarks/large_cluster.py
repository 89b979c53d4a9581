"""The cost of a large cluster: when it forms, at rest, and when a member leaves or crashes.

Usage: ``python benchmarks/large_cluster.py [--members 100] [--profile default] [--seconds 60] [--together]``

The members are in four processes, but share nothing, as if each was in its own; with ``--together``, all but two are
members of one process (see ``members.py``). The log is in SQLite. Measured are the processor time of all, the records
that they append, and the time until the listeners of all, or all others, were told of the view.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from members import Cluster, Process
from report import Report

from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.topics import control_topic

BULK = 2
"""Processes with all members but two, unless ``--together``: as many as there are cores."""
SETTLES_S = 3.0


async def end_of(folder: Path) -> int:
    log = SqliteLog(folder)
    try:
        return (await log.bounds(control_topic())).end
    finally:
        await log.close()


def main(members: int, profile: str, seconds: float, *, together: bool) -> None:
    report = Report("large_cluster")
    names = [f"m{number}" for number in range(members)]
    bulk = 1 if together else BULK
    groups = [*(names[each:-2:bulk] for each in range(bulk)), [names[-2]], [names[-1]]]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "board.db")
        options = {"profile": profile, "min_event_delay_s": 0.0}
        with Cluster(f"sqlite:///{log}", Path(folder), groups, together=together, **options) as cluster:

            def cost(work: Callable[[], object]) -> tuple[float, float, int]:
                """Seconds, processor time of those that stay, and records of this."""
                began_s, cpu_s, end = time.monotonic(), cluster.cpu_s(), asyncio.run(end_of(log))
                work()
                return time.monotonic() - began_s, cluster.cpu_s() - cpu_s, asyncio.run(end_of(log)) - end

            whose = f"{members} members{' together' if together else ''}, profile {profile}"
            began_s = time.monotonic()
            cluster.agreed(members)
            report.row(f"start of {whose}: agreed", [time.monotonic() - began_s], unit="s", note="less is better")
            report.row(f"start of {whose}", [cluster.cpu_s()], unit="s of processor time")
            cluster.run(SETTLES_S)
            took_s, cpu_s, records = cost(lambda: cluster.run(seconds))
            report.row(f"at rest, {whose}", [cpu_s / took_s], unit="cores", note="goal for 200: below 0.5")
            report.row(f"at rest, {whose}", [records / took_s], unit="records/s")
            for name, strike in ((names[-1], Process.leave), (names[-2], Process.crash)):
                process, began_ns = cluster.dismiss(name), time.monotonic_ns()
                strike(process)
                left = sum(len(each.names) for each in cluster.processes)
                took_s, cpu_s, records = cost(lambda left=left, began_ns=began_ns: cluster.agreed(left, began_ns))
                how = f"{strike.__name__} of one, {whose}"
                report.row(f"{how}: changed at all others", [took_s], unit="s", note="less is better")
                report.row(f"{how}: meanwhile", [cpu_s], unit="s of processor time")
                report.row(f"{how}: meanwhile", [records], unit="records")
                cluster.run(SETTLES_S)
    report.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--profile", default="default")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--together", action="store_true", help="nearly all in one process")
    parser.add_argument("--quick", action="store_true", help="20 members, 5 seconds")
    chosen = parser.parse_args()
    size = (20, chosen.profile, 5.0) if chosen.quick else (chosen.members, chosen.profile, chosen.seconds)
    main(*size, together=chosen.together)
