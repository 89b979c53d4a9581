"""How far each fold is: the answer of ``Callboard.folds``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from callboard.board.context import BoardContext
from callboard.board.entities.health.announcements import FoldAnnouncements, HeardFold
from callboard.errors import TopicMissing
from callboard.messages.bounds import clipped
from callboard.messages.entities.entity_messages import FoldPlace
from callboard.messages.topics import TOPIC_NAME

SILENT, STOPPED = "silent", "stopped"

PLACES_MAX = 100
"""Topics of one fold; no projection has more sources."""

TOPICS_MAX = 1000
"""Topics that are looked up: each is a question to the log."""

TROUBLES_MAX = 20
TEXT_CHARS_MAX = 2000
"""Of what one fold says is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldReport:
    """How far a fold is: entities, processes, a projection or a reaction, in one process of the service.

    Attributes:
        kind: ``entities``, ``process``, ``projection`` or ``reaction``.
        name: the declared name of the class or of the row, or the name of the reaction.
        instance: the host, or the member of the cluster, that it runs on.
        incarnation: of this start of it.
        state: ``reading``, until it has read its topics; ``live``; ``building``, before others see the rows of a
            projection; ``standby``, if another process does the work; ``stopped`` by a problem; ``silent`` if it has
            missed three announcements.
        behind: how many offsets each topic has behind what it had read when it said so, at most a minute ago.
        held: entities in memory.
        active: processes with something to do; of a reaction, commands that are not answered.
        unreadable: entities in memory whose state is not known.
        refused: commands of a reaction that were refused since it started.
        problem: why it is stopped.
        troubles: what is wrong with some entities or commands.
        seen_s: seconds since its last announcement.
    """

    kind: str
    name: str
    instance: str
    incarnation: str
    state: str
    behind: Mapping[str, int]
    held: int
    active: int
    unreadable: int
    refused: int
    problem: str
    troubles: tuple[str, ...]
    seen_s: float

    @property
    def behind_all(self) -> int:
        """Offsets that it is behind on all its topics."""
        return sum(self.behind.values())

    @property
    def wrong(self) -> str:
        """What is wrong, in a line; empty if nothing is."""
        refused = f"{self.refused} refused" if self.refused else ""
        unreadable = f"{self.unreadable} unreadable" if self.unreadable else ""
        return "; ".join(filter(None, (self.problem, unreadable, refused, *self.troubles[:1])))

    @property
    def needs(self) -> bool:
        """Whether somebody has to look at it."""
        return self.state in {SILENT, STOPPED} or bool(self.unreadable or self.troubles)


async def folds(board: BoardContext) -> tuple[FoldReport, ...]:
    """How far the entities, projections and reactions are that run, in any process, by what they have announced."""
    if board.folds is None or board.folds.log is not board.log:
        board.folds = FoldAnnouncements(board.log, board.topics.discovery)
    now_ns = board.now_ns()
    await board.folds.catch_up(now_ns)
    heard = list(board.folds.running(now_ns))
    ends = await _ends(board, (place for each in heard for place in each.said.places[:PLACES_MAX]))
    rows = [_report(each, ends, now_ns) for each in heard]
    return tuple(sorted(rows, key=lambda row: (row.kind, row.name, row.instance, row.incarnation)))


Ends = Mapping[str, tuple[str, int, int]]
"""By topic, its identity, first offset and end."""


async def _ends(board: BoardContext, places: Iterable[FoldPlace]) -> Ends:
    found: dict[str, tuple[str, int, int]] = {}
    for topic in dict.fromkeys(place.topic for place in places):
        if len(found) == TOPICS_MAX or not TOPIC_NAME.fullmatch(topic):
            continue
        try:
            found[topic] = (await board.log.identity(topic), *(await board.log.bounds(topic)))
        except TopicMissing:
            found[topic] = "", 0, 0
    return found


def _report(heard: HeardFold, ends: Ends, now_ns: int) -> FoldReport:
    said = heard.said
    behind = {place.topic: _behind(place, ends) for place in said.places[:PLACES_MAX] if place.topic in ends}
    return FoldReport(
        kind=said.kind, name=said.name, instance=said.instance, incarnation=said.incarnation,
        state=SILENT if heard.is_silent(now_ns) else said.state, behind=behind, held=max(0, said.held),
        active=max(0, said.active), unreadable=max(0, said.unreadable), refused=max(0, said.refused),
        problem=clipped(said.problem, TEXT_CHARS_MAX),
        troubles=tuple(clipped(each, TEXT_CHARS_MAX) for each in said.troubles[:TROUBLES_MAX]),
        seen_s=heard.silence_s(now_ns),
    )  # fmt: skip


def _behind(place: FoldPlace, ends: Ends) -> int:
    log_id, first, end = ends[place.topic]
    read = place.next if place.log_id == log_id else first  # of another incarnation, it has to read all
    return max(0, end - max(read, first))
