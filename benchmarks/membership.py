"""How long does a cluster of five processes take to agree again when its leader crashes, and when it leaves?

Usage: ``python benchmarks/membership.py [--quick]``, four minutes. Each member is a process of its own, on a log in
SQLite. Measured are the time until the listeners of all others were told ``topology_changed``, and until the next
leader leads. The listeners return at once, and ``min_event_delay_s`` is 0.
"""

import random
import tempfile
import time
from pathlib import Path

from members import Cluster
from report import Report, quick

PROFILES = {"default": "default (renew 2 s, lease 10 s)", "fast": "fast (renew 0.5 s, lease 2.5 s)"}
NAMES = "abcde"


def measured(profile: str, how: str) -> tuple[float, float]:
    """Seconds until all others agree, and until the next one leads."""
    with tempfile.TemporaryDirectory() as name:
        log, groups = f"sqlite:///{name}/board.db", [[each] for each in NAMES]
        with Cluster(log, Path(name), groups, profile=profile, min_event_delay_s=0.0) as cluster:
            cluster.agreed(len(NAMES))
            cluster.led()
            cluster.run(1 + random.uniform(0, 2))  # at any moment between two renewals
            leader, began_ns = cluster.dismiss(cluster.leader()), time.monotonic_ns()
            if how == "crash":
                leader.crash()
            else:
                leader.leave()
            agreed_ns = cluster.agreed(len(NAMES) - 1, began_ns)
            return (agreed_ns - began_ns) / 1e9, (cluster.led(began_ns) - began_ns) / 1e9


def main(count: int) -> None:
    report = Report("membership")
    for profile, shown in PROFILES.items():
        for how in ("crash", "leave"):
            agreed, led = zip(*(measured(profile, how) for _ in range(count)), strict=True)
            for until, took in (("changed at all others", agreed), ("the next leader", led)):
                report.row(f"{how} of the leader to {until}, {shown}", took, unit="s", note="less is better")
    report.write()


if __name__ == "__main__":
    main(1 if quick() else 5)
