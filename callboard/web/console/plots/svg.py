"""Draws lines as SVG: where they are, and what is written at the axes."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from callboard.units import age
from callboard.web.console.drawing import draw
from callboard.web.console.plots.lines import Line, Window

WIDTH, HEIGHT = 360, 170
LEFT, RIGHT, TOP, BOTTOM = 48, 8, 8, 22
"""The margins, with room for what is written at the axes."""

LINES_MAX = 6
"""As many as can be told apart."""

STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
"""Between two marks of time."""

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places along one axis."""

    least: float
    most: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The place of the value."""
        return self.start + (self.end - self.start) * (value - self.least) / (self.most - self.least)


def plotted(
    name: str,
    title: str,
    lines: Sequence[Line],
    window: Window,
    *,
    unit: str = "",
    from_zero: bool = True,
    note: str = "",
) -> Markup:
    """The plot as HTML.

    Args:
        name: its id on the page.
        title: what is plotted.
        lines: the first ``LINES_MAX`` of them are drawn.
        window: the time shown.
        unit: of the values: ``s`` for durations, otherwise a word that is written behind the title.
        from_zero: begin at 0, as amounts do; otherwise at the least value.
        note: what else is to be known.
    """
    lines = lines[:LINES_MAX]
    values = [value for line in lines for value in line.values]
    low, high = (0.0 if from_zero else min(values, default=0.0)), max(values, default=0.0)
    step = step_for(high - low, seconds=unit == "s")
    low = math.floor(low / step) * step
    top = max(math.ceil(high / step), round(low / step) + 1) * step
    across = Scale(window.start_s, window.end_s, LEFT, WIDTH - RIGHT)
    up = Scale(low, top, HEIGHT - BOTTOM, TOP)
    return Markup(  # noqa: S704 - the template escapes what is written into it
        draw(
            "plots/plot.html", name=name, title=title, unit="" if unit == "s" else unit, note=note,
            width=WIDTH, height=HEIGHT, left=LEFT, right=WIDTH - RIGHT, bottom=HEIGHT - BOTTOM, top=TOP,
            across=list(_moments(window, across)), start=_clock(window.start_s), end=_clock(window.end_s),
            up=[(up.at(value), written(value, unit)) for value in _marks(low, top, step)],
            lines=[(line.name, path(line, across, up), *_told(line, unit)) for line in lines], empty=not values,
        )
    )  # fmt: skip


def path(line: Line, across: Scale, up: Scale) -> str:
    """The line as the ``d`` of a path. A value on its own is a dot, by the round ends of a line without a length."""
    parts, pen = list[str](), "M"
    for at_s, value in line.points:
        if math.isnan(value):
            pen = "M"
        elif at_s >= across.least:
            parts.append(f"{pen}{across.at(at_s):.1f} {up.at(value):.1f}" + "h0" * (pen == "M"))
            pen = "L"
    return "".join(parts)


def step_for(span: float, *, seconds: bool = False) -> float:
    """A round step, of which three to six cover the span."""
    rough = span / 4 if span > 0 else 1.0
    if seconds and rough > 5:
        return next((float(step) for step in STEPS_S if step >= rough), DAY_S * math.ceil(rough / DAY_S))
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)


def written(value: float, unit: str = "") -> str:
    """The value, short enough for an axis."""
    if unit == "s":
        short = f"{value * 1000:.3g} ms" if 0 < value < 1 else f"{value:.3g} s"
        return short if value < 120 else age(value)
    for most, divisor, mark in ((1e5, 1, ""), (1e8, 1e3, "k"), (1e11, 1e6, "M")):
        if abs(value) < most:
            return f"{value / divisor:,.0f}{mark}" if abs(value / divisor) >= 100 else f"{value / divisor:.3g}{mark}"
    return f"{value:.3g}"


def _marks(low: float, top: float, step: float) -> list[float]:
    return [low + step * place for place in range(round((top - low) / step) + 1)]


def _moments(window: Window, across: Scale) -> Iterator[tuple[float, str]]:
    span = window.end_s - window.start_s
    step = next((step for step in STEPS_S if step >= span / 5), DAY_S)
    first = math.ceil(window.start_s / step)
    for number in range(first, math.floor(window.end_s / step) + 1):
        yield (
            across.at(number * step),
            time.strftime("%a %H:%M" if span > DAY_S else "%H:%M", time.gmtime(number * step)),
        )


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at_s))


def _told(line: Line, unit: str) -> tuple[str, str]:
    """The newest value and the greatest one, in words."""
    if not line.values:
        return "", ""
    newest = line.points[-1][1]
    return "unknown" if math.isnan(newest) else written(newest, unit), written(max(line.values), unit)
