"""The audit as one HTML file: no script, nothing fetched from elsewhere."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

PLACE = (640, 120)
"""Width and height of a plot, in pixels."""

_STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1b1b}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}
.has{color:#176b32}.bad{color:#b00020}.muted{color:#666}svg{background:#fafafa;border:1px solid #ddd}"""

_BAD = {"removed_failed", "held"}


def audit_page(path: str, packages: Sequence[Any], deliveries: Sequence[Any], left_out: int) -> str:
    """The page.

    Args:
        path: what was asked for.
        packages: rows of ``path_index``, oldest first.
        deliveries: rows of ``deliveries`` of these packages.
        left_out: how many further packages there are.
    """
    by_offset: dict[int, list[Any]] = {}
    for row in deliveries:
        by_offset.setdefault(row["offset"], []).append(row)
    rows = "".join(_row(package, by_offset.get(package["offset"], [])) for package in packages)
    more = f"<p>{left_out} older packages are left out.</p>" if left_out else ""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Audit of {escape(path)}</title>"
        f"<style>{_STYLE}</style><h1>Audit of {escape(path)}</h1>{more}"
        f"<h2>Packages a day</h2>{_bars(Counter(_day(package['time_ns']) for package in packages))}"
        f"<h2>Who has it</h2>{_subscribers(deliveries)}"
        "<h2>Packages</h2><table><tr><th>when (UTC)<th>offset<th>what<th>path<th>who<th>subscribers</tr>"
        f"{rows}</table></html>\n"
    )


def _row(package: Any, deliveries: Sequence[Any]) -> str:
    who = f"{escape(package['publisher'])}<br><span class=muted>{escape(package['user'] or '')}</span>"
    told = "".join(f"<div class={_mood(row['state'])}>{_said(row)}</div>" for row in deliveries)
    return (
        f"<tr><td>{_moment(package['time_ns'])}<td class=n>{package['offset']}<td>{escape(package['kind'].lower())}"
        f"<td>{escape(package['path'])}<td>{who}<td>{told or '<span class=muted>nobody yet</span>'}</tr>"
    )


def _said(row: Any) -> str:
    since = f" since {_moment(row['since_ns'])}" if row["since_ns"] else ""
    reason = f" ({escape(row['reason'])})" if row["reason"] else ""
    return f"{escape(row['subscriber'])} {escape(row['state'])}{since}{reason}"


def _subscribers(deliveries: Sequence[Any]) -> str:
    counts: dict[str, Counter[str]] = {}
    for row in deliveries:
        counts.setdefault(row["subscriber"], Counter())[row["state"]] += 1
    rows = "".join(
        f"<tr><td>{escape(name)}<td>{', '.join(f'{count} {escape(state)}' for state, count in sorted(states.items()))}"
        for name, states in sorted(counts.items())
    )
    return f"<table><tr><th>subscriber<th>packages</tr>{rows}</table>"


def _bars(counts: Counter[str]) -> str:
    """A bar for each day that has any."""
    width, height = PLACE
    days, most = sorted(counts), max(counts.values(), default=1)
    step = width / max(len(days), 1)
    bars = "".join(
        f'<rect x="{number * step:.1f}" y="{height - height * counts[day] / most:.1f}" width="{max(step - 1, 1):.1f}" '
        f'height="{height * counts[day] / most:.1f}" fill="#2b6cb0"><title>{day}: {counts[day]}</title></rect>'
        for number, day in enumerate(days)
    )
    span = f"{days[0]} to {days[-1]}, at most {most} a day" if days else "none"
    plot = f'<svg width="{width}" height="{height}" role="img" aria-label="{span}">{bars}</svg>'
    return f"{plot}<p class=muted>{span}</p>"


def _mood(state: str) -> str:
    return "has" if state == "has" else "bad" if state in _BAD else "muted"


def _moment(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _day(time_ns: int) -> str:
    return _moment(time_ns)[:10]
