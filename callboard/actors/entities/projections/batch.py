"""Records of one topic that are folded together: pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from callboard.actors.entities.entity import Deleted
from callboard.actors.entities.held import FAULTS
from callboard.actors.entities.processes.process import Ask
from callboard.actors.entities.processes.tasks import check_ask
from callboard.actors.entities.projections.projection import Reaction, Recorded
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.projections.table_rows import ROWS, SEEN, Columns
from callboard.backends.fold_store import Row
from callboard.errors import CallboardError, SchemaTooNew, Undecodable
from callboard.messages.declared.records import event_of
from callboard.messages.entities.commits import commit_in
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened
from callboard.messages.reading import Problem, Unread
from callboard.messages.record import Record

ROW_KEY_CHARS_MAX = 1000
"""Characters of the key of a row."""

CACHE_MAX = 100_000
"""Rows that are remembered from one batch to the next."""

Cache = dict[str, dict[str, Row]]
"""Rows by table and key; an empty one is no row."""


@dataclass(slots=True)
class Entry:
    """A record: its events, the rows that they change, and the commit to an entity, if it is one."""

    offset: int
    events: tuple[Recorded, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    commit: EntityCommitMessage | None = None
    seen: str = ""
    problem: str = ""


@dataclass(slots=True)
class Folded:
    """What a batch leads to: rows, commands with their events, and the next offset. With a ``problem``,
    that is the offset of the event that cannot be folded.
    """

    topic: str
    following: int
    rows: dict[str, dict[str, Row | None]] = field(default_factory=lambda: {ROWS: {}, SEEN: {}})
    asks: list[tuple[Recorded, Ask]] = field(default_factory=list)
    problem: str = ""

    def remember(self, cache: Cache) -> None:
        """Keep the rows for the next batch."""
        for table, rows in self.rows.items():
            known = cache.setdefault(table, {})
            if len(known) > CACHE_MAX:
                known.clear()
            known.update({key: () if row is None else row for key, row in rows.items()})


class Batch:
    """Records of a topic, decoded."""

    def __init__(self, settings: ProjectorSettings, topic: str, records: tuple[Record, ...], following: int) -> None:
        self._topic, self._following = topic, following
        self._source = dict(settings.topics)[topic]
        self._of: Any = settings.of()
        self._row = settings.row
        self._columns = Columns(settings.row) if settings.row else None
        self._entries = [entry for record in records if (entry := self._entry(record)) is not None]

    def keys(self) -> dict[str, list[str]]:
        """The rows that are needed, by their table."""
        seen = dict.fromkeys(entry.seen for entry in self._entries if entry.seen)
        rows = dict.fromkeys(key for entry in self._entries for keys in entry.keys for key in keys)
        return {SEEN: list(seen), ROWS: list(rows)}

    def _entry(self, record: Record) -> Entry | None:
        """The record; None if it means nothing."""
        entry = Entry(record.offset)
        try:
            if self._source is None:
                entry.events = (Recorded(self._topic, "", event_of(record), 0, record.offset, 0, record.time_ns),)
            else:
                commit = commit_in(record)
                if isinstance(commit, Unread):
                    if commit.problem is not Problem.TOO_NEW:
                        return None  # every keeper ignores it
                    raise SchemaTooNew(commit.detail)
                entry.commit, key, version = commit, commit.key, commit.version + 1
                entry.seen = f"{self._topic}/{key}"
                events = [opened(each) for each in commit.events]
                if commit.ended:
                    events.append(Deleted())
                entry.events = tuple([
                    Recorded(self._source, key, event, version, record.offset, place, record.time_ns)
                    for place, event in enumerate(events)
                ])  # fmt: skip
            entry.keys = tuple([self._keys_of(each) for each in entry.events])
        except FAULTS as error:
            entry.problem = str(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {error}"
        return entry

    def _keys_of(self, recorded: Recorded) -> tuple[str, ...]:
        if self._row is None:
            return ()
        keys: object = self._of.keys(recorded)
        if keys == (recorded.key,) and recorded.key:  # the usual ones
            return (recorded.key,)
        its = tuple(keys) if isinstance(keys, list | tuple | set | frozenset | Iterator) else None
        if its is None or not all(isinstance(key, str) and 0 < len(key) <= ROW_KEY_CHARS_MAX for key in its):
            raise TypeError(
                f"keys() returned {keys!r:.80}; return a tuple of texts of 1 to {ROW_KEY_CHARS_MAX} characters"
            )
        if any("\0" in key or not _is_text(key) for key in its):
            raise TypeError(f"keys() returned {keys!r:.80}, which has characters that no table can hold")
        return tuple(dict.fromkeys(its))

    def fold(self, cache: Cache) -> Folded:
        """Fold the records into rows, which the cache has as they are before."""
        folded = Folded(self._topic, self._following)
        for entry in self._entries:
            if entry.commit is not None and not self._counts(entry, folded, cache):
                continue
            try:
                if entry.problem:
                    raise Undecodable(entry.problem)
                changes, asks = self._evolve(entry, folded, cache)
            except FAULTS as error:
                why = str(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {error}"
                folded.problem = f"the event at offset {entry.offset} of {self._topic} cannot be folded: {why}"
                folded.following = entry.offset
                break
            folded.rows[ROWS].update(changes)
            folded.asks += asks
            if entry.commit is not None:
                folded.rows[SEEN][entry.seen] = (entry.commit.commit_id, entry.commit.version + 1)
        if self._row is None:
            folded.rows.pop(ROWS)
        return folded

    def _counts(self, entry: Entry, folded: Folded, cache: Cache) -> bool:
        """Whether the commit was decided on the entity's last one."""
        assert entry.commit is not None
        previous, version = folded.rows[SEEN].get(entry.seen) or cache[SEEN][entry.seen] or (0, 0)
        return bool(entry.commit.previous == previous and entry.commit.version == version)

    def _evolve(
        self, entry: Entry, folded: Folded, cache: Cache
    ) -> tuple[dict[str, Row | None], list[tuple[Recorded, Ask]]]:
        changes: dict[str, Row | None] = {}
        asks: list[tuple[Recorded, Ask]] = []
        if isinstance(self._of, Reaction):
            for each in entry.events:
                asks += [(each, ask) for ask in _checked(self._of.react(each))]
            return changes, asks
        assert self._columns is not None
        assert self._row is not None
        for each, keys in zip(entry.events, entry.keys, strict=True):
            for key in keys:
                before = changes[key] if key in changes else folded.rows[ROWS].get(key, cache[ROWS].get(key) or None)
                row = self._of.evolve(key, self._columns.loaded(before) if before else None, each)
                if row is not None and type(row) is not self._row:
                    raise TypeError(f"evolve returned {row!r:.80}, not a {self._row.__name__} or None")
                changes[key] = None if row is None else self._columns.stored(row)
        return changes, asks


def _checked(given: Iterable[object]) -> list[Ask]:
    asks = dict[str, Ask]()
    for each in given:
        if not isinstance(each, Ask) or each.name in asks:
            raise TypeError(f"react() returned {each!r:.80}; return Ask(...), each with a name of its own")
        check_ask(each)
        asks[each.name] = each
    return list(asks.values())


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
