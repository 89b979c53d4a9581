"""The sites behind relays: a line for each, or one with its subscribers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from callboard.board.read.sites.report import in_words
from callboard.board.site_status import SiteStatus
from callboard.cli.terminal.output import state_text, table, text
from callboard.units import age, count

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


def sites_table(sites: Iterable[SiteStatus]) -> "Table":
    """A line for each."""
    return table(
        ("SITE", "SUBSCRIBERS", "<NEED>", "<ERRORS>", "<RELAYED>", "<TO RELAY>", "<AS OF>"),
        (
            (
                each.name,
                in_words(each),
                text(str(each.needs or ""), style="bold red"),
                str(each.errors or ""),
                str(each.relayed) if each.relayed >= 0 else "",
                str(each.behind) if each.behind >= 0 else "?",
                _as_of(each),
            )
            for each in sites
        ),
    )


def site_tree(site: SiteStatus) -> "Group":
    """The site, and those of its subscribers that are known by name."""
    from rich.console import Group

    told = f"as of {_as_of(site)} ago" if site.age_s >= 0 else "nothing was told yet"
    head = text((site.name, "bold"), f", {count(site.subscribers, 'subscriber')}, {told}: {in_words(site)}")
    rows = table(
        ("SUBSCRIBER", "STATE", "<LAG>", "<BEHIND>", "<OFFSET>", "<TRIES>", "<ERRORS>", "WHY"),
        (
            (
                row.name,
                state_text(row.state),
                str(row.lag_packages) if row.lag_packages >= 0 else "?",
                age(row.lag_s) if row.lag_packages > 0 and row.lag_s >= 0 else "",
                str(row.offset) if row.offset >= 0 else "",
                str(row.attempts or ""),
                str(row.errors or ""),
                text(row.reason, style="red" if row.needs else ""),
            )
            for row in site.rows
        ),
    )
    notes = [text(f"the site could not be looked at: {site.problem}", style="bold red")] if site.problem else []
    notes += [text(site.missing, style="dim")] if site.missing else []
    return Group(head, *([rows] if site.rows else []), *notes)


def _as_of(site: SiteStatus) -> str:
    return age(site.age_s) if site.age_s >= 0 else "?"
