"""The result of a run: strikes by kind, recovery times, and what the final comparison found."""

from collections import defaultdict
from dataclasses import dataclass, field

from rich.table import Table

from callboard.cli.demo.account import Count


@dataclass
class Recoveries:
    """For each kind of strike, the recovery times in seconds, and the number of strikes without a recovery."""

    times_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    never: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, kind: str, seconds: float | None) -> None:
        """Add a strike; ``seconds`` is None if the recovery did not come in time."""
        if seconds is None:
            self.never[kind] += 1
        else:
            self.times_s[kind].append(seconds)

    @property
    def all_s(self) -> list[float]:
        """All recovery times, in seconds."""
        return [seconds for times in self.times_s.values() for seconds in times]

    @property
    def lost(self) -> int:
        """The number of strikes without a full recovery."""
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
    """The smallest value that at least ``percent`` percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _shown(values: list[float], percent: int) -> str:
    return f"{percentile(values, percent):.1f}" if values else ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. ``differences`` say in words what is wrong."""

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
