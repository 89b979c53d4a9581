"""What a publisher has put on the log of a board in memory."""

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

from callboard import sync
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.tail import SharedTail
from callboard.board.context import BoardContext
from callboard.board.publisher import Publisher
from callboard.board.read.log.log_records import entries_of, opened
from callboard.board.views import shortened
from callboard.content.package_format.manifest import Form
from callboard.door.rules import checked, choice, optional, path, shown, whole
from callboard.errors import ConfigError, RequestRefused
from callboard.escaping import escaped
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

KindName = Kind | Literal["ADD", "DELETE", "INVALIDATE", "TEST"]


class Published(NamedTuple):
    """A package: its offset, the paths that were requested, and the paths of all that is in it."""

    offset: int
    kind: Kind
    paths: tuple[str, ...]
    entries: tuple[str, ...]

    def __str__(self) -> str:
        return escaped(f"offset {self.offset}: {self.kind.name} {shortened(self.entries or self.paths)}".rstrip())

    def fits(self, path: str | None, kind: Kind | None) -> bool:
        """Whether it has the path, and is of the kind; None is any."""
        return kind in (None, self.kind) and (path is None or path in self.paths or path in self.entries)


def _kind(value: Any) -> Kind:
    if isinstance(value, Kind):
        return value
    return Kind[choice(*Kind.__members__)(value)]


RULES = {"path": optional(path), "kind": optional(_kind), "times": optional(whole(0, 10**9))}


def published(publisher: Publisher | sync.Publisher) -> tuple[Published, ...]:
    """The packages of this publisher, oldest first. It is called without ``await``, also in asynchronous tests.

    Raises ``RequestRefused`` for anything but a publisher, ``ConfigError`` if its board is not in memory, or not open.
    """
    return tuple(package for name, package in _read(publisher) if name == publisher.name)


def assert_published(
    publisher: Publisher | sync.Publisher,
    *,
    path: str | None = None,
    kind: KindName | None = None,
    times: int | None = None,
) -> None:
    """Fail unless this publisher has put such a package on the log. It is called without ``await``, also in
    asynchronous tests.

    Args:
        publisher: of a board in memory, such as ``board.publisher("site")``.
        path: one that was requested, or is in the package; any by default.
        kind: such as ``"ADD"``; any by default.
        times: how many there are exactly; at least one by default.

    Raises:
        AssertionError: there are others; it says which.
        RequestRefused: wrong arguments.
        ConfigError: the board is not in memory, or not open.
    """
    wanted = checked(RequestRefused, RULES, {"path": path, "kind": kind, "times": times})
    found = _read(publisher)
    its = [package for name, package in found if name == publisher.name]
    many = sum(each.fits(wanted["path"], wanted["kind"]) for each in its)
    if many == wanted["times"] or (many and wanted["times"] is None):
        return
    what = " ".join(filter(None, (getattr(wanted["kind"], "name", ""), wanted["path"]))) or "a package"
    often = f"{many} times, not {times} times" if many else "never"
    others = ", ".join(sorted({name for name, _ in found})) or "none"
    there = [str(each) for each in its] or [f"nothing; publishers with packages: {others}"]
    raise AssertionError("\n".join((f"{publisher.name} has published {what} {often}; it has published:", *there)))


def assert_not_published(
    publisher: Publisher | sync.Publisher, *, path: str | None = None, kind: KindName | None = None
) -> None:
    """Fail if this publisher has put such a package on the log. See ``assert_published``."""
    assert_published(publisher, path=path, kind=kind, times=0)


def _read(publisher: object) -> list[tuple[str, Published]]:
    """All packages, with the names of their publishers. The event loop of the test waits meanwhile."""
    its = vars(publisher)["_asynchronous"] if isinstance(publisher, sync.Publisher) else publisher
    if not isinstance(its, Publisher):
        raise RequestRefused(f"{shown(publisher)} is no publisher; give one, such as board.publisher('site')")
    board: BoardContext = vars(its)["_board"]
    log = board.log.below if isinstance(board.log, SharedTail) else board.log
    if not isinstance(log, MemoryLog):
        raise ConfigError("only boards in memory can be looked at in this way; open one, such as Callboard('memory:')")
    with ThreadPoolExecutor(1) as thread, tempfile.TemporaryDirectory() as spool:
        return thread.submit(asyncio.run, _packages(board, log, Path(spool))).result()


async def _packages(board: BoardContext, log: MemoryLog, spool: Path) -> list[tuple[str, Published]]:
    topic, found = board.topics.package, list[tuple[str, Published]]()
    at, end = await log.bounds(topic)
    while at < end:
        records = await log.read(topic, at)
        for record in records:
            message = opened(record)
            if isinstance(message, PackageMessage):
                entries = await entries_of(message, board.blobs, spool) if message.kind is Kind.ADD else ()
                paths = tuple(each.path for each in entries if each.form is not Form.KEEP)
                found.append((message.publisher, Published(record.offset, message.kind, message.paths, paths)))
        at = records[-1].offset + 1
    return found
