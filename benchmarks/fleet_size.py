"""Fleets of 10 to 1,000 subscribers, and announcements of up to 10,000: what they cost the log, and everyone on it.

Usage: ``python benchmarks/fleet_size.py [--quick] [--sizes 10,100,1000] [--editable] [--simulated 10000]``, an
hour, half of it for 10,000 simulated; ``--quick`` has 10 and 100 subscribers, and takes two minutes.

The fleets are real: see ``fleet.py``. A package of 10 kB is published each second, into SQLite files, on one SQLite
log. The largest is simulated: its announcers run on a virtual clock, without any I/O; see ``announcing.py``.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from announcing import SETTLE_S, Announced, Announcing, Folded
from fleet import TOPICS, Load, Run, measured
from report import Report

SIZES, QUICK_SIZES = (10, 30, 100, 300, 1000), (10, 100)
SIMULATED, QUICK_SIMULATED = (100, 1000, 3000, 10_000), (100, 300)
SECONDS, QUICK_SECONDS = 60, 10
PER_S = 1.0
REST_S, QUICK_REST_S = 60.0, 10.0
START_S, SIMULATED_REST_S, SIMULATED_LOAD_S = 120, 300, 20
HOUR_S = 3600
ANNOUNCEMENTS = "announcements a second"


def tell(report: Report, run: Run) -> None:
    """The rows about one fleet."""
    load, count = run.load, run.load.count

    def row(question: str, figure: float, unit: str, note: str = "") -> None:
        report.row(f"{count} subscribers: {question}", [figure], unit=unit, note=note)

    row("started in", run.started_s, "s")
    for part in (0.5, 0.99, 1.0):
        row(f"{part:.0%} imported within", run.share(part) / 1000, "s")
    for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery):
        for when, records, nbytes, seconds in (
            ("at rest", run.idle_records, run.idle_nbytes, load.rest_s),
            ("under load", run.records, run.nbytes, run.took_s),
        ):
            hourly = HOUR_S / seconds
            row(f"{topic}, {when}", records[topic] * hourly, "records/h", f"{nbytes[topic] * hourly / 1e6:.1f} MB/h")
    idle_ms, busy_ms = (sum(half.cpu_s for half in halves) / count * 1000 for halves in (run.idle, run.busy))
    row("processor time of one, at rest", idle_ms / load.rest_s, "ms/s")
    row("processor time of one, a package", busy_ms / load.packages, "ms")
    row("processor time of the publisher, at rest", run.publisher_idle_cpu_s * 1000 / load.rest_s, "ms/s")
    row("processor time of the publisher, under load", run.publisher_cpu_s * 1000 / run.took_s, "ms/s")
    row("memory of one", sum(half.resident_mb for half in run.busy[-2:]) / count, "MB")
    row("memory of the publisher", run.publisher_mb, "MB", "beyond an open board")
    others_ms = (run.machine_cpu_s - run.publisher_cpu_s) * 1000 - busy_ms * count
    row("processor time of everything else on the machine", others_ms / run.took_s, "ms/s", "0 on a machine of its own")


def curves(report: Report, run: Run) -> None:
    """The points about one fleet."""
    count = run.load.count
    for part, name in ((0.5, "half of the deliveries"), (0.99, "99% of the deliveries"), (1.0, "all")):
        report.point(name, count, run.share(part) / 1000, x_name="subscribers", y_name="s from publish to imported")
    phases = ("at rest", run.idle_records, run.load.rest_s), ("a package a second", run.records, run.took_s)
    for name, records, seconds in phases:
        report.point(name, count, records[TOPICS.discovery] / seconds, x_name="subscribers", y_name=ANNOUNCEMENTS)


def simulate(report: Report, size: int) -> None:
    """A simulated fleet, from its start to its rest after a load."""
    fleet = Announcing(size)
    phases = {
        "while it starts": Announced.of(fleet, START_S),
        "until it has settled": Announced.of(fleet, SETTLE_S),
        "at rest": Announced.of(fleet, SIMULATED_REST_S),
        "a package a second": Announced.of(fleet, SIMULATED_LOAD_S, 1.0),
    }
    for phase, it in phases.items():
        note = f"{it.bytes_s * HOUR_S / 1e6:.1f} MB/h; {it.most_s} in the worst second; {it.cpu_ms:.3f} ms/s of one"
        report.row(f"{size} simulated: announcements {phase}", [it.records_s], unit="records/s", note=note)
    report.row(f"{size} simulated: names lost because a lease ended", [fleet.lapsed], unit="")
    folded = Folded.of(fleet.topic[-max(20_000, 2 * size) :])
    for question, figure, unit in (
        ("to fold an announcement", folded.fold_us, "us"),
        ("for the first answer about the fleet", folded.first_ms, "ms"),
        ("for the next one", folded.again_ms, "ms"),
    ):
        report.row(f"{size} simulated: processor time of the publisher {question}", [figure], unit=unit)
    for curve, phase in (("simulated, at rest", "at rest"), ("simulated, a package a second", "a package a second")):
        y = phases[phase].records_s
        report.point(curve, size, y, x_name="subscribers", y_name=ANNOUNCEMENTS)


def numbers(given: str | None, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(filter(None, map(int, given.split(",")))) if given else otherwise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--editable", action="store_true")
    parser.add_argument("--sizes", help="numbers of subscribers, with commas; none: 0")
    parser.add_argument("--simulated", help="likewise")
    given = parser.parse_args()
    report = Report("fleet_size_editable" if given.editable else "fleet_size")
    sizes = numbers(given.sizes, QUICK_SIZES if given.quick else SIZES)
    simulated = numbers(given.simulated, QUICK_SIMULATED if given.quick else SIMULATED)
    seconds, rest_s = (QUICK_SECONDS, QUICK_REST_S) if given.quick else (SECONDS, REST_S)
    for count in sizes:
        settle_s = max(rest_s, 0.15 * count)
        load = Load(count, seconds, per_s=PER_S, rest_s=rest_s, settle_s=settle_s, editable=given.editable)
        with tempfile.TemporaryDirectory() as folder:
            run = asyncio.run(measured(Path(folder), load))
        tell(report, run)
        curves(report, run)
    for count in simulated:
        simulate(report, count)
    report.write()


if __name__ == "__main__":
    main()
