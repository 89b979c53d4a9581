"""What came of a run: strikes by kind, how long it took to recover, and what the last comparison found."""

from collections import defaultdict
from dataclasses import dataclass, field

from rich.table import Table

from callboard.cli.demo.account import Count


@dataclass
class Recoveries:
    """Of each kind of strike: how long each recovery took, in seconds, and how many never came."""

    times_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    never: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str, seconds: float | None) -> None:
        """One more strike; None if nobody recovered from it in time."""
        if seconds is None:
            self.never[kind] += 1
        else:
            self.times_s[kind].append(seconds)

    @property
    def all_s(self) -> list[float]:
        """Every recovery."""
        return [seconds for times in self.times_s.values() for seconds in times]

    @property
    def lost(self) -> int:
        """Strikes that somebody did not recover from."""
        return sum(self.never.values())

    def table(self, title: str) -> Table:
        """A row for each kind."""
        table = Table(title=title, title_justify="left", expand=False)
        for heading in ("strike", "times", "recovered", "p50 s", "p99 s"):
            table.add_column(heading, justify="left" if heading == "strike" else "right")
        for kind in sorted({*self.times_s, *self.never}):
            times = self.times_s.get(kind, [])
            strikes = len(times) + self.never.get(kind, 0)
            table.add_row(kind, str(strikes), str(len(times)), _shown(times, 50), _shown(times, 99))
        return table


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _shown(values: list[float], percent: int) -> str:
    return f"{percentile(values, percent):.1f}" if values else ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. ``differences`` say in words what is not as it should be."""

    subscribers: int
    identical: int
    account: Count
    recoveries: Recoveries
    differences: tuple[str, ...]
    orphans: int = 0
    files: int = 0

    @property
    def good(self) -> bool:
        """Whether everything is as it should be."""
        wrong = (self.account.lost, self.account.twice, self.recoveries.lost, self.orphans, self.files)
        return self.identical == self.subscribers and not any(wrong) and not self.differences

    def __str__(self) -> str:
        times = self.recoveries.all_s
        return (
            f"chaos: {self.identical} of {self.subscribers} subscribers identical to the source, "
            f"{self.account.packages} packages, {self.account.lost} lost, {self.account.twice} applied twice; "
            f"{len(times)} of {len(times) + self.recoveries.lost} strikes recovered from, "
            f"p50 {_shown(times, 50)} s, p99 {_shown(times, 99)} s; "
            f"{self.orphans} orphans, {self.files} files left"
        )
