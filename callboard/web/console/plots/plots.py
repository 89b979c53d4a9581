"""The plots that there are: of the fleet, of a subscriber, of jobs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from callboard.web.console.drawing import draw
from callboard.web.console.page import Question
from callboard.web.console.plots.history import BUCKETS, History
from callboard.web.console.plots.lines import Line, Window, gauge, percentiles, rate
from callboard.web.console.plots.samples import Samples
from callboard.web.console.plots.svg import LINES_MAX, plotted

RANGES: Mapping[str, tuple[str, float]] = {
    "15min": ("15 minutes", 900.0), "2h": ("2 hours", 7200.0), "2d": ("2 days", 172_800.0),
}  # fmt: skip
"""By the word in the address: the name, and the seconds."""

SHARES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class View:
    """What is plotted: the samples of a window, of a subscriber or a queue if ``of`` is its name, for a page."""

    asked: Question
    samples: Samples
    window: Window
    of: str

    def gauges(self, *keys: tuple[str, str, str]) -> list[Line]:
        """A line for each name, figure, and what that is of."""
        return [gauge(name, self.samples, (what, of), self.window) for name, what, of in keys]

    def rates(self, *keys: tuple[str, str, str]) -> list[Line]:
        """The same for counters: how much they grow in a minute."""
        return [rate(name, self.samples, (what, of), self.window) for name, what, of in keys]


def plots_of(asked: Question, *plots: str, subscriber: str = "", queue: str = "") -> Markup:
    """These plots, in the range that is asked for in the address, with links to the other ranges.

    Args:
        asked: by the page.
        *plots: of ``PLOTS``.
        subscriber: of which ``position`` and ``behind`` are.
        queue: of which ``queues`` and ``jobs`` are; all if not given.

    Raises:
        RequestRefused: there is no such range.
    """
    word = asked.choice("range", RANGES, "15min")
    history, (_, range_s) = asked.now.history, RANGES[word]
    window = Window.until(asked.board.context.now_ns() / 1e9, range_s)
    view = View(asked, history.samples(range_s), window, subscriber or queue)
    drawn = Markup().join(PLOTS[plot](view) for plot in plots)
    shown = {"drawn": drawn, "since": _since(history, window), "ranges": RANGES, "word": word, "asked": asked}
    return Markup(draw("plots/plots.html", **shown))  # noqa: S704 - the template escapes what is written into it


def _since(history: History, window: Window) -> str:
    """From when on figures are known, if not for the whole window."""
    if not history.since_s:
        return "The board has not been read yet."
    if history.since_s <= window.start_s + 60:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(history.since_s))
    return f"Figures are known since {since}, when this console began to read the board; they are lost when it ends."


def _lag(view: View) -> Markup:
    rows = sorted(view.asked.now.status.subscribers, key=lambda row: (-row.lag_packages, row.name))
    worst = [row.name for row in rows if row.lag_packages > 0][: LINES_MAX - 1]
    lines = view.gauges(("all", "lag", ""), *((name, "lag", name) for name in worst))
    note = "The subscribers furthest behind now. All are those that count, as far as their queues are known."
    return plotted("lag", "Behind", lines, view.window, unit="packages", note=note)


def _deliveries(view: View) -> Markup:
    lines = view.rates(("imported by all subscribers", "imported", ""))
    return plotted("deliveries", "Deliveries", lines, view.window, unit="packages a minute")


def _latency(view: View) -> Markup:
    keys = [("latency", str(place)) for place in range(BUCKETS)]
    lines = percentiles(view.samples, keys, SHARES, view.window)
    note = "As subscribers announce it, by two hosts' clocks. Estimated from counts between 10 ms and a day."
    return plotted("latency", "From publish to import", lines, view.window, unit="s", note=note)


def _position(view: View) -> Markup:
    lines = view.gauges((view.of, "offset", view.of))
    return plotted("position", "Position", lines, view.window, unit="offset", from_zero=False)


def _behind(view: View) -> Markup:
    lines = view.gauges((view.of, "lag", view.of))
    return plotted("behind", "Behind", lines, view.window, unit="packages")


def _queues(view: View) -> Markup:
    if view.of:
        lines = view.gauges(*((state, state, view.of) for state in ("queued", "active", "parked")))
        return plotted("queues", f"Jobs in {view.of}", lines, view.window)
    longest = sorted(view.asked.now.queues, key=lambda its: (-its.queued, its.name))
    lines = view.gauges(
        ("queued in all", "queued", ""), ("active in all", "active", ""), ("parked in all", "parked", ""),
        *((f"queued in {each.name}", "queued", each.name) for each in longest[: LINES_MAX - 3] if each.queued),
    )  # fmt: skip
    return plotted("queues", "Jobs in queues", lines, view.window)


def _jobs(view: View) -> Markup:
    lines = view.rates(("added", "added", view.of), ("ended", "ended", view.of))
    return plotted("jobs", "Jobs added and ended", lines, view.window, unit="a minute")


PLOTS: Mapping[str, Callable[[View], Markup]] = {
    "lag": _lag, "deliveries": _deliveries, "latency": _latency, "position": _position, "behind": _behind,
    "queues": _queues, "jobs": _jobs,
}  # fmt: skip
