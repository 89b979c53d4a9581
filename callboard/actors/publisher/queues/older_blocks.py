"""What lies before the packages in memory: figures by block, and the columns of the blocks used last."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from callboard.actors.publisher.queues.columns import TOTAL_MAX, Columns
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue import EVERY_QUEUE, Streams, Wanted
from callboard.messages.distribution.queue_mail import QueueSize

LOADED_MAX = 4
"""Blocks whose columns are kept. Each has about a sixteenth of the packages that memory holds."""

ANSWERS_MAX = 10_000
"""Answers kept after their block's columns are dropped: positions of stuck subscribers hardly move."""


class Figures(NamedTuple):
    """The number of packages, their content in bytes, and both ends."""

    size: int = 0
    length: int = 0
    first: int = -1
    oldest_ns: int = 0
    newest: int = -1

    @classmethod
    def of(cls, index: PackageIndex, wanted: Wanted) -> Self:
        """The figures of a queue in an index."""
        queue = index.queue(wanted)
        (first,) = queue.page(0, 1) or (-1,)
        return cls(queue.size, queue.length, first, queue.oldest_ns, queue.newest)

    def to_size(self, wanted: Wanted) -> QueueSize:
        """The figures as the answer to a query."""
        return QueueSize(
            publisher=wanted.publisher, after=wanted.after, subscriber=wanted.subscriber, size=self.size,
            length=min(self.length, TOTAL_MAX), oldest_ns=self.oldest_ns, newest=self.newest,
        )  # fmt: skip


def joined(parts: Iterable[Figures]) -> Figures:
    """The figures of all parts together."""
    filled = [part for part in parts if part.size]
    if not filled:
        return Figures()
    oldest = min(filled, key=lambda part: part.first)
    return Figures(
        sum(part.size for part in filled),
        sum(part.length for part in filled),
        oldest.first,
        oldest.oldest_ns,
        max(part.newest for part in filled),
    )


@dataclass(slots=True, eq=False)
class Block:
    """Packages in ``[start, stop)``: figures of each stream, and the columns while they are kept.

    Without ``totals`` it has to be read again: a part of it was trimmed.
    """

    start: int
    stop: int
    totals: Streams[Figures] | None
    index: PackageIndex | None = None

    @classmethod
    def of(cls, index: PackageIndex) -> Self:
        """A block whose columns are not kept."""
        return cls(index.start, index.stop, _totals(index))

    def figures(self, wanted: Wanted) -> Figures | None:
        """The figures of the whole block, for this queue."""
        return None if self.totals is None else joined(wanted.select(self.totals))


def _totals(index: PackageIndex) -> Streams[Figures]:
    def of(columns: Columns) -> Figures:
        return Figures(len(columns), columns.total(0), columns.offsets[0], columns.times[0], columns.offsets[-1])

    return {to: {name: of(columns) for name, columns in its.items()} for to, its in index.streams.items()}


@dataclass(slots=True)
class OlderBlocks:
    """Contiguous blocks. A query that needs the columns of a block is answered once that was read.

    A query that cannot be answered yet returns None and sets the block that it needs in ``missing``.
    """

    blocks: list[Block] = field(default_factory=list)
    missing: Block | None = None
    _trimmed: bool = False  # the log begins in here: there is nothing older
    _loaded: OrderedDict[int, Block] = field(default_factory=OrderedDict)
    _answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    @property
    def start(self) -> int:
        """Everything from here on is known. Only if there are blocks."""
        return 0 if self._trimmed else self.blocks[0].start

    @property
    def publishers(self) -> set[str]:
        """Publishers that have packages here."""
        totals = (block.totals for block in self.blocks if block.totals)
        return {name for streams in totals for its in streams.values() for name in its} - {EVERY_QUEUE}

    @property
    def held(self) -> int:
        """Packages whose columns are kept."""
        return sum(len(block.index) for block in self._loaded.values() if block.index is not None)

    def before(self, older: Iterable[Block]) -> None:
        """Add blocks before the others."""
        self.blocks[:0] = older

    def after(self, newer: Iterable[Block]) -> None:
        """Add blocks after the others."""
        self.blocks += newer

    def clear(self) -> None:
        """Forget everything."""
        self.blocks, self._trimmed, self.missing = [], False, None
        self._loaded.clear()
        self._answers.clear()

    def trim(self, first: int) -> bool:
        """The log now begins at ``first``. Return whether that changes anything here."""
        if not self.blocks or first < self.blocks[0].start or (self._trimmed and first == self.blocks[0].start):
            return False
        self._trimmed = True  # there is nothing older
        self._answers.clear()
        for block in self.blocks:
            if block.start < first:
                self._drop(block)
                block.totals, block.start = None, min(first, block.stop)
        self.blocks = [block for block in self.blocks if block.start < block.stop]
        return True

    def load(self, block: Block, index: PackageIndex) -> None:
        """The columns of a block were read."""
        block.totals, block.index = _totals(index), index
        self._loaded[block.start] = block
        if len(self._loaded) > LOADED_MAX:
            self._drop(next(iter(self._loaded.values())))

    def figures(self, wanted: Wanted) -> Figures | None:
        """The figures of these packages."""
        parts: list[Figures] = []
        for block in self._from(wanted.after):
            found = self._of(block, wanted)
            if found is None:
                self.missing = block
                return None
            parts.append(found)
        return joined(parts)

    def page(self, wanted: Wanted, skip: int, limit: int) -> tuple[tuple[int, ...], int] | None:
        """At most ``limit`` of these offsets after the first ``skip``; and how many are still to be skipped."""
        found: tuple[int, ...] = ()
        for block in self._from(wanted.after):
            whole = self._of(block, wanted)
            if whole is None:
                self.missing = block
                return None
            if skip >= whole.size:
                skip -= whole.size
                continue
            part = self._offsets(block, wanted, skip, limit - len(found))
            if part is None:
                self.missing = block
                return None
            found, skip = (*found, *part), 0
            if len(found) == limit:
                break
        return found, skip

    def _from(self, after: int) -> Iterable[Block]:
        return (block for block in self.blocks if block.stop > after + 1)

    def _of(self, block: Block, wanted: Wanted) -> Figures | None:
        if wanted.after < block.start:
            return block.figures(wanted)
        found: Figures | None = self._answer(block, (block.start, wanted), lambda index: Figures.of(index, wanted))
        return found

    def _offsets(self, block: Block, wanted: Wanted, skip: int, limit: int) -> Sequence[int] | None:
        key = (block.start, wanted, skip, limit)
        found: Sequence[int] | None = self._answer(block, key, lambda index: index.queue(wanted).page(skip, limit))
        return found

    def _answer(self, block: Block, key: Hashable, compute: Callable[[PackageIndex], Any]) -> Any:
        """The remembered answer, else the answer of the columns, else None."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if block.index is None:
            return None
        self._loaded.move_to_end(block.start)
        self._answers[key] = compute(block.index)
        if len(self._answers) > ANSWERS_MAX:
            self._answers.popitem(last=False)
        return self._answers[key]

    def _drop(self, block: Block) -> None:
        """Drop its columns."""
        self._loaded.pop(block.start, None)
        block.index = None
