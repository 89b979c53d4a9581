"""The frame of every benchmark: interleaved rounds, medians and spread, a table and a JSON file.

Usage::

    report = Report("log")
    figures = rounds(5, {"ours": ours, "bare": bare})  # functions that return a figure
    report.row("append", figures["ours"], figures["bare"], unit="records/s", peer_name="sqlite3", goal=0.5)
    report.write()
"""

import json
import platform
import sqlite3
import statistics
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("callboard", "thespian", "protobuf", "asyncpg", "aiokafka", "aiobotocore", "pyspark", "eventsourcing")


def rounds(
    count: int, contestants: dict[str, Callable[[], float]], *, rotate: bool = True, warm_up: bool = True
) -> dict[str, list[float]]:
    """Each contestant's figures over ``count`` interleaved rounds, so that a slow minute affects all alike.

    The first comes last in the next round, unless ``rotate`` is false because a contestant needs to know what
    the one before it did. One round before the counted ones warms up, unless they are too long for that to matter.
    """
    names = list(contestants)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for number in range(0 if warm_up else 1, count + 1):
        turn = number % len(names) if rotate else 0
        for name in names[turn:] + names[:turn]:
            figure = contestants[name]()
            if number > 0:
                figures[name].append(figure)
    return figures


def quick() -> bool:
    """Whether ``--quick`` was given: a short run, with less reliable figures."""
    return "--quick" in sys.argv[1:]


def machine() -> dict[str, str]:
    """The machine and the versions."""
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    found["platform"] = platform.platform()
    cpu = next((line for line in _cpu_lines() if line.startswith("model name")), ":")
    found["cpu"] = cpu.split(":", 1)[1].strip()
    found["cores"] = str(sum(line.startswith("processor") for line in _cpu_lines()))
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


class Report:
    """Collects rows and writes them.

    Args:
        name: of the results file, ``benchmarks/results/<name>.json``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: list[dict[str, Any]] = []
        self._points: list[dict[str, Any]] = []

    def point(self, curve: str, x: float, y: float, *, x_name: str, y_name: str) -> None:
        """Add a point of a curve, such as a latency beside the number of subscribers; ``plot.py`` draws it."""
        self._points.append({"curve": curve, "x": x, "y": y, "x_name": x_name, "y_name": y_name})

    def row(  # noqa: D417
        self,
        question: str,
        ours: Sequence[float],
        peer: Sequence[float] = (),
        *,
        unit: str,
        peer_name: str = "",
        goal: float | None = None,
        note: str = "",
    ) -> None:
        """Add one row.

        Args:
            ours: one figure per round.
            peer: the peer's figures of the same rounds; the ratio is the median of the rounds' ratios.
            goal: the ratio to reach; for units where less is better, leave it and say so in the note.
        """
        ratio = statistics.median(a / b for a, b in zip(ours, peer, strict=True)) if peer else None
        self._rows.append(
            {"question": question, "unit": unit, "ours": _spread(ours), "peer_name": peer_name,
             "peer": _spread(peer) if peer else None, "ratio": ratio, "goal": goal, "note": note}
        )  # fmt: skip

    def write(self) -> None:
        """Print the table and write the JSON file."""
        table = Table("question", "unit", "ours (min-max)", "peer (min-max)", "ratio", "goal", "note",
                      title=f"benchmark {self.name}")  # fmt: skip
        for row in self._rows:
            ratio, goal = row["ratio"], row["goal"]
            colour = "" if ratio is None or goal is None else "[green]" if ratio >= goal else "[red]"
            table.add_row(
                row["question"], row["unit"], _shown(row["ours"]),
                f"{row['peer_name']} {_shown(row['peer'])}" if row["peer"] else "",
                "" if ratio is None else f"{colour}{ratio:.2f}",
                "" if goal is None else f"{goal:g}",
                row["note"],
            )  # fmt: skip
        Console(width=None if sys.stdout.isatty() else 160).print(table)
        RESULTS.mkdir(exist_ok=True)
        result = {"benchmark": self.name, "machine": machine(), "rows": self._rows, "points": self._points}
        (RESULTS / f"{self.name}.json").write_text(json.dumps(result, indent=2) + "\n")


def _spread(figures: Sequence[float]) -> dict[str, float]:
    median = statistics.median(figures)
    return {"median": median, "min": min(figures), "max": max(figures), "rounds": len(figures)}


def _shown(spread: dict[str, float]) -> str:
    return f"{spread['median']:,.4g} ({spread['min']:,.4g}-{spread['max']:,.4g})"
