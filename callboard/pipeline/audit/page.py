"""The audit as one HTML file: no script, nothing fetched from elsewhere."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from callboard.escaping import escaped_html as escape
from callboard.pipeline.audit.plots import COLOURS, bars, curves, duration, legend, moment, share

PATHS_SHOWN = 4
"""Paths of a package that are shown; a click opens the rest."""

STATES = {
    "has": ("there", "#2f855a"),
    "before": ("there before its first announcement", "#9ac7ae"),
    "superseded": ("replaced by a later one", "#63b3a4"),
    "not yet": ("not yet", "#e0a53a"),
    "removed": ("removed by a command", "#a0aec0"),
    "skipped": ("skipped by a command", "#718096"),
    "held": ("held back", "#d9622b"),
    "removed_failed": ("given up", "#c53030"),
}
"""The label and colour of each state, from good to bad."""

WORRYING = ("removed_failed", "held", "not yet")
"""The states that a reader looks for first, worst first."""

_STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;margin:0;background:#f4f6f8;color:#1a202c}
main{max-width:78rem;margin:0 auto;padding:1.6rem 1.2rem 3rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:0 0 .6rem}
code{font:13px/1.4 ui-monospace,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}.muted{color:#697586}
.tiles,.plots{display:grid;gap:1rem;margin:1rem 0}
.tiles{grid-template-columns:repeat(auto-fit,minmax(10rem,1fr))}
.plots{grid-template-columns:repeat(auto-fit,minmax(24rem,1fr))}
.card{background:#fff;border:1px solid #e2e8f0;border-radius:8px;padding:.9rem 1rem}
.wide{margin-top:1rem;overflow-x:auto}
.tiles b{display:block;font-size:1.6rem;line-height:1.2}.tiles .bad b{color:#c53030}
svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:#697586}
.grid{stroke:#e2e8f0}.base{stroke:#94a3b8}svg.share{height:.8rem;min-width:9rem;border-radius:3px}
.legend{margin:.5rem 0 0;font-size:13px;color:#4a5568}.legend span{margin-right:1rem;white-space:nowrap}
i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.4em}
table{border-collapse:collapse;width:100%;font-size:14px}th{font-weight:600;color:#4a5568;font-size:13px}
th,td{text-align:left;padding:.4rem .7rem;border-bottom:1px solid #edf2f7;vertical-align:top}
tr:last-child td{border-bottom:0}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.m{white-space:nowrap}td.p{min-width:20rem}details summary{cursor:pointer;color:#4a5568}.told{margin:0}
"""


@dataclass(slots=True)
class _Subscriber:
    """The outcomes of the packages at one subscriber."""

    states: Counter[str] = field(default_factory=Counter)
    had_ns: list[int] = field(default_factory=list)
    delays_s: list[float] = field(default_factory=list)
    newest: int = -1

    def worry(self) -> tuple[int, ...]:
        """Sort key: greater for more trouble."""
        return tuple(self.states[state] for state in WORRYING)


def audit_page(path: str, packages: Sequence[Any], deliveries: Sequence[Any], left_out: int) -> str:
    """The page as HTML.

    Args:
        path: the path that was asked for.
        packages: offset, time_ns, publisher, user, kind, length and paths of each, the newest first.
        deliveries: rows of ``deliveries`` of these packages.
        left_out: how many older packages there are.
    """
    by_offset: dict[int, list[Any]] = {}
    for row in deliveries:
        by_offset.setdefault(row["offset"], []).append(row)
    times = {package["offset"]: package["time_ns"] for package in packages}
    subscribers = _subscribers(deliveries, times)
    title = f"Audit of {escape(path)}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style><main><h1>{title}</h1>{_extent(packages, left_out)}"
        f"{_tiles(packages, subscribers)}{_plots(packages, subscribers)}{_who(subscribers)}"
        '<section class="card wide"><h2>Packages, newest first</h2><table><tr><th>when, UTC<th class="n">offset<th>what'
        '<th class="n">size<th>paths<th>who<th>subscribers</tr>'
        f"{''.join(_row(package, by_offset.get(package['offset'], [])) for package in packages)}</table></section>"
        "</main></html>\n"
    )


def _subscribers(deliveries: Sequence[Any], times: Mapping[int, int]) -> dict[str, _Subscriber]:
    """The subscribers by name, those with the most trouble first."""
    found: dict[str, _Subscriber] = {}
    for row in deliveries:
        one = found.setdefault(row["subscriber"], _Subscriber())
        one.states[row["state"]] += 1
        if row["state"] in ("has", "superseded", "before"):
            one.newest = max(one.newest, row["offset"])
        if row["since_ns"] and row["offset"] in times:
            one.had_ns.append(row["since_ns"])
            one.delays_s.append(max(row["since_ns"] - times[row["offset"]], 0) / 1e9)
    by_name = sorted(found.items())
    return dict(sorted(by_name, key=lambda item: item[1].worry(), reverse=True))


def _extent(packages: Sequence[Any], left_out: int) -> str:
    if not packages:
        return '<p class="muted">No package concerns it.</p>'
    first, last = packages[-1], packages[0]
    older = f"; {left_out:,} older packages are left out here, and in the tables" if left_out else ""
    return (
        f'<p class="muted">Packages at offsets {first["offset"]} to {last["offset"]}, '
        f"from {moment(first['time_ns'])} to {moment(last['time_ns'])} UTC{older}.</p>"
    )


def _tiles(packages: Sequence[Any], subscribers: Mapping[str, _Subscriber]) -> str:
    whole = sum(not any(one.worry()) for one in subscribers.values())
    failed = sum(one.states["removed_failed"] + one.states["held"] for one in subscribers.values())
    delays = [delay for one in subscribers.values() for delay in one.delays_s]
    tiles = (
        (f"{len(packages):,}", "packages", ""),
        (_size(sum(package["length"] or 0 for package in packages)), "content", ""),
        (f"{whole} of {len(subscribers)}", "subscribers have everything", "" if whole == len(subscribers) else "bad"),
        (f"{failed:,}", "given up or held back", "bad" if failed else ""),
        (duration(statistics.median(delays)) if delays else "-", "from log to content, median", ""),
    )
    cards = (
        f'<div class="card {mood}"><b>{figure}</b><span class="muted">{name}</span></div>'
        for figure, name, mood in tiles
    )
    return f'<div class="tiles">{"".join(cards)}</div>'


def _plots(packages: Sequence[Any], subscribers: Mapping[str, _Subscriber]) -> str:
    if not packages:
        return ""
    drawn, step = bars([(package["time_ns"], package["kind"]) for package in packages])
    slowest = dict(list(subscribers.items())[: len(COLOURS)])
    some = f" (the {len(slowest)} with most to look into)" if len(slowest) < len(subscribers) else ""
    lines = curves([package["time_ns"] for package in packages], {name: one.had_ns for name, one in slowest.items()})
    return (
        f'<div class="plots"><section class="card"><h2>Packages per {step}, UTC</h2>{drawn}</section>'
        f'<section class="card"><h2>Packages that each had{some}, UTC</h2>{lines}</section></div>'
    )


def _who(subscribers: Mapping[str, _Subscriber]) -> str:
    there = [state for state in STATES if any(one.states[state] for one in subscribers.values())]
    rows = "".join(
        f'<tr><td class="m">{escape(name)}<td>{share([(STATES[s][0], one.states[s], STATES[s][1]) for s in there])}'
        f"<td>{', '.join(f'{one.states[s]:,} {STATES[s][0]}' for s in there if one.states[s])}"
        f'<td class="n">{one.newest if one.newest >= 0 else "-"}'
        f'<td class="n">{duration(statistics.median(one.delays_s)) if one.delays_s else "-"}'
        f'<td class="n">{duration(max(one.delays_s)) if one.delays_s else "-"}</tr>'
        for name, one in subscribers.items()
    )
    return (
        '<section class="card wide"><h2>Who has it</h2><table><tr><th>subscriber<th>share<th>packages'
        '<th class="n">newest offset<th class="n">median delay<th class="n">longest delay</tr>'
        f"{rows}</table>{legend({STATES[state][0]: STATES[state][1] for state in there})}</section>"
    )


def _row(package: Any, deliveries: Sequence[Any]) -> str:
    who = f'{escape(package["publisher"])}<br><span class="muted">{escape(package["user"] or "")}</span>'
    return (
        f'<tr><td class="m">{moment(package["time_ns"])}<td class="n">{package["offset"]}'
        f'<td>{escape(package["kind"].lower())}<td class="n">{_size(package["length"]) if package["length"] else ""}'
        f'<td class="p">{_paths(package["paths"])}<td>{who}<td>{_told(deliveries)}</tr>'
    )


def _paths(paths: Sequence[str]) -> str:
    lines = [f"<code>{escape(path)}</code>" for path in paths]
    shown, others = "<br>".join(lines[:PATHS_SHOWN]), lines[PATHS_SHOWN:]
    return shown + (
        f"<details><summary>{len(others):,} more</summary>{'<br>'.join(others)}</details>" if others else ""
    )


def _told(deliveries: Sequence[Any]) -> str:
    """A line for each state, with reasons for the worrying ones; a click opens who has the package since when."""
    if not deliveries:
        return '<span class="muted">for no subscriber</span>'
    lines = []
    for state, (name, colour) in reversed(STATES.items()):
        rows = sorted((row for row in deliveries if row["state"] == state), key=lambda row: row["subscriber"])
        head = f'<i style="background:{colour}"></i>{len(rows):,} {name}'
        if rows and state in WORRYING:
            who = ", ".join(escape(row["subscriber"]) + _reason(row) for row in rows)
            lines.append(f'<p class="told">{head}: {who}</p>')
        elif rows:
            each = "<br>".join(f"{escape(row['subscriber'])}{_since(row)}" for row in rows)
            lines.append(f"<details><summary>{head}</summary>{each}</details>")
    return "".join(lines)


def _since(row: Any) -> str:
    return f" since {moment(row['since_ns'])}" if row["since_ns"] else ""


def _reason(row: Any) -> str:
    return f' <span class="muted">({escape(row["reason"])})</span>' if row["reason"] else ""


def _size(length: int) -> str:
    amount, unit = float(length), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
