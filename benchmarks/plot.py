"""Draws the growth curves of the last run of each benchmark: ``benchmarks/results/*.json`` to ``docs/figures/*.png``.

Usage: ``make plots``, or ``python benchmarks/plot.py`` if matplotlib is installed.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from report import RESULTS

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
WIDE = 20
"""The axis is logarithmic if the largest value is this many times the smallest."""

Points = list[tuple[float, float]]


def draw(name: str, x_name: str, y_name: str, curves: dict[str, Points], machine: dict[str, str]) -> None:
    """One figure with all curves that share their axes."""
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    for curve, points in curves.items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", label=curve)
    for values, scale in ((0, axes.set_xscale), (1, axes.set_yscale)):
        found = [point[values] for points in curves.values() for point in points]
        if max(found) > WIDE * min(found):
            scale("log")
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    axes.set_title(f"{name}: Python {machine['python']}, {machine['cores']} cores", fontsize="medium")
    figure.savefig(FIGURES / f"{name}.png", dpi=110)


def figures_of(result: dict[str, Any]) -> dict[tuple[str, str], dict[str, Points]]:
    """The points of each curve, by the names of the axes."""
    found: dict[tuple[str, str], dict[str, Points]] = defaultdict(lambda: defaultdict(list))
    for point in result.get("points", []):
        found[point["x_name"], point["y_name"]][point["curve"]].append((point["x"], point["y"]))
    return found


def main() -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    for path in sorted(RESULTS.glob("*.json")):
        result = json.loads(path.read_text())
        for number, ((x_name, y_name), curves) in enumerate(figures_of(result).items(), 1):
            name = result["benchmark"] + (f"_{number}" if number > 1 else "")
            draw(name, x_name, y_name, curves, result["machine"])
            print(f"docs/figures/{name}.png")


if __name__ == "__main__":
    main()
