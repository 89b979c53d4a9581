"""Folds as metrics for Prometheus. Labels are kinds, names and instances, never the key of an entity."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import Metric

from callboard.board.context import BoardContext
from callboard.board.entities.health.fold_report import SILENT, STOPPED, FoldReport, folds
from callboard.board.read.status.families import family

KEEPERS = ("entities", "process")


async def fold_metrics(board: BoardContext) -> list[Metric]:
    """The metrics of folds; none if none runs."""
    return list(_folds(await folds(board)))


def _folds(rows: Sequence[FoldReport]) -> Iterator[Metric]:
    for name, text, kinds, value in _METRICS:
        most: dict[tuple[str, ...], int] = {}
        for row in rows:
            if not kinds or row.kind in kinds:
                key = row.kind, row.name, row.instance
                most[key] = max(most.get(key, 0), value(row))
        yield from family(name, text, ("kind", "name", "instance"), most.items())


_METRICS: tuple[tuple[str, str, tuple[str, ...], Callable[[FoldReport], int]], ...] = (
    ("fold_behind", "Offsets that the fold has not read, on all its topics.", (), lambda row: row.behind_all),
    ("fold_stopped", "1 while the fold is stopped, or silent.", (), lambda row: row.state in {STOPPED, SILENT}),
    ("entities_held", "Entities in memory.", KEEPERS, lambda row: row.held),
    ("entities_unreadable", "Entities in memory whose state is not known.", KEEPERS, lambda row: row.unreadable),
    ("processes_active", "Processes with something to do.", ("process",), lambda row: row.active),
    ("reaction_refused", "Commands refused since the reaction started.", ("reaction",), lambda row: row.refused),
)
"""Names, texts, kinds of folds (all if none is named), and values. Of several processes on one host, the highest value
counts: a sample cannot be there twice."""
