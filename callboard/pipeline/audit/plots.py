"""The plots of the audit's page, as SVG: no script, and every figure also as text under the pointer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from callboard.escaping import escaped_html as escape

WIDTH, HEIGHT = 560, 220
"""Size of a plot, in units that the page scales."""

LEFT, RIGHT, TOP, BOTTOM = 40, 12, 12, 34
"""Margins around a plot, for its labels."""

STEPS_S = (1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)
"""The possible widths of a bar; the first that gives at most ``BARS`` is used."""

BARS = 56

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b7791f", "#d53f8c", "#319795", "#718096")
"""Colours of lines and kinds, in order; no more lines than these are drawn."""

UNITS = ((86400, "day"), (3600, "h"), (60, "min"), (1, "s"))


def moment(time_ns: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime(form)


def bars(times: Sequence[tuple[int, str]]) -> tuple[str, str]:
    """Packages over time, each bar divided by kind; and the width of a bar, such as ``5 s`` or ``h``.

    Args:
        times: time in nanoseconds and kind of each package.
    """
    low, high = _span([time_ns for time_ns, _ in times])
    step_s = next((step for step in STEPS_S if (high - low) / 1e9 <= step * BARS), STEPS_S[-1])
    step_ns = step_s * 10**9
    low -= low % step_ns
    high = low + ((high - low) // step_ns + 1) * step_ns
    counts: dict[int, Counter[str]] = {}
    for time_ns, kind in times:
        counts.setdefault((time_ns - low) // step_ns, Counter())[kind] += 1
    most = max((count.total() for count in counts.values()), default=1)
    kinds = sorted({kind for _, kind in times})
    width = (WIDTH - LEFT - RIGHT) * step_ns / (high - low)
    drawn = []
    for place, count in sorted(counts.items()):
        y = float(HEIGHT - BOTTOM)
        each = ", ".join(f"{number} {kind.lower()}" for kind, number in count.items())
        told = escape(f"{moment(low + place * step_ns)}: {each}")
        for number, kind in enumerate(kinds):
            height = (HEIGHT - TOP - BOTTOM) * count[kind] / most
            y -= height
            drawn.append(
                f'<rect x="{LEFT + place * width + 0.5:.1f}" y="{y:.1f}" width="{max(width - 1, 1):.1f}" '
                f'height="{height:.1f}" fill="{COLOURS[number % len(COLOURS)]}"><title>{told}</title></rect>'
            )
    named = {kind.lower(): COLOURS[number % len(COLOURS)] for number, kind in enumerate(kinds)}
    plot = _plot("".join(drawn), low, high, most, "packages over time") + legend(named)
    return plot, duration(step_s).removeprefix("1 ")


def curves(published: Sequence[int], had: Mapping[str, Sequence[int]]) -> str:
    """Packages published, and packages at each subscriber, over time.

    Args:
        published: when each package was appended, in nanoseconds.
        had: by subscriber, when it got each, likewise; no more subscribers than ``COLOURS``.
    """
    every = [*published, *(time for times in had.values() for time in times)]
    low, high = _span(every)
    most = max([len(published), 1, *map(len, had.values())])
    lines = [_steps(sorted(published), low, high, most, "#1a202c", "published", 2.5)]
    for number, (name, times) in enumerate(had.items()):
        lines.append(_steps(sorted(times), low, high, most, COLOURS[number], name, 1.5))
    named = {"published": "#1a202c"} | {name: COLOURS[number] for number, name in enumerate(had)}
    label = "packages that were published, and that subscribers had"
    return _plot("".join(lines), low, high, most, label) + legend(named)


def share(parts: Sequence[tuple[str, int, str]]) -> str:
    """One bar divided by count: label, count and colour of each part."""
    total = sum(count for _, count, _ in parts) or 1
    drawn, x = [], 0.0
    for label, count, colour in parts:
        width = 100 * count / total
        drawn.append(
            f'<rect x="{x:.2f}" width="{width:.2f}" height="10" fill="{colour}">'
            f"<title>{escape(label)}: {count}</title></rect>"
        )
        x += width
    return f'<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" role="img">{"".join(drawn)}</svg>'


def legend(named: Mapping[str, str]) -> str:
    """The meaning of the colours."""
    parts = (f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in named.items())
    return f'<p class="legend">{"".join(parts)}</p>'


def duration(seconds: float) -> str:
    """A time span for people, in the largest unit that fits at least once."""
    for length, unit in UNITS:
        if seconds >= length:
            amount = seconds / length
            text = f"{amount:.1f}".removesuffix(".0") if amount < 10 else f"{amount:.0f}"
            return f"{text} {unit}" + ("s" if unit == "day" and text != "1" else "")
    return f"{seconds * 1000:.0f} ms"


def _span(times_ns: Sequence[int]) -> tuple[int, int]:
    """The first and last time; at least a second apart."""
    low, high = min(times_ns, default=0), max(times_ns, default=0)
    return low, max(high, low + 10**9)


def _steps(times: Sequence[int], low: int, high: int, most: int, colour: str, name: str, width: float) -> str:
    """A line that rises by one at each of these times."""
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    path = [f"M{LEFT} {HEIGHT - BOTTOM}"]
    for number, time_ns in enumerate(times, 1):
        path.append(f"H{LEFT + across * (time_ns - low) / (high - low):.1f}V{HEIGHT - BOTTOM - up * number / most:.1f}")
    return (
        f'<path d="{"".join(path)}H{WIDTH - RIGHT}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'stroke-linejoin="round"><title>{escape(name)}: {len(times)}</title></path>'
    )


def _plot(inside: str, low: int, high: int, most: int, label: str) -> str:
    """The frame: a line at the bottom and at each labelled count, and times below."""
    base, up = HEIGHT - BOTTOM, HEIGHT - TOP - BOTTOM
    marks = sorted({0, round(most / 2), most})
    grid = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base - up * mark / most:.1f}" y2="{base - up * mark / most:.1f}" '
        f'class="{"grid" if mark else "base"}"/>'
        f'<text x="{LEFT - 6}" y="{base - up * mark / most + 4:.1f}" text-anchor="end">{mark}</text>'
        for mark in marks
    )
    form = "%H:%M:%S" if high - low < 86400 * 10**9 else "%m-%d %H:%M" if high - low < 8 * 86400 * 10**9 else "%Y-%m-%d"
    times = "".join(
        f'<text x="{LEFT + (WIDTH - LEFT - RIGHT) * part / 4:.0f}" y="{HEIGHT - BOTTOM + 18}" '
        f'text-anchor="{"start" if part == 0 else "end" if part == 4 else "middle"}">'
        f"{moment(low + (high - low) * part / 4, form)}</text>"
        for part in range(5)
    )
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{grid}{inside}{times}</svg>'
