"""Finds who filled a tree at subscribers: a fold over the newest packages on the log, so no other state is needed."""

import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import backwards
from callboard.backends.repositories.paths import with_parents
from callboard.board.read.log.log_records import entries_of, opened
from callboard.content.placed import within
from callboard.errors import BlobError, PackageError, RootFilled, SchemaTooNew
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

LOOK_BACK = 10_000
"""Limit of offsets read backwards from the end: a root in use was filled by some of the last packages."""

NAMED = 3
"""How many fillers a refusal names."""


@dataclass(frozen=True, slots=True)
class Filler:
    """The newest package of a publisher and source that brought content which is still in the tree."""

    publisher: str
    source: str
    offset: int

    def __str__(self) -> str:
        source = f"{self.source!r} by " if self.source else ""
        return f"{source}publisher {self.publisher!r} (offset {self.offset})"


def name_of(folder: Path) -> str:
    """The name on the log of a folder without another name."""
    return f"{socket.gethostname()}:{folder.resolve()}".encode(errors="backslashreplace").decode()


async def demand_own_root(log: Log, blobs: BlobStore, topic: str, publisher: str, request: DistributeRequest) -> None:
    """Raise ``RootFilled`` if the request would remove what another publisher, or another source, brought.

    Only requests that replace a whole root are checked: everything in a source, or the removal of ``/``. A folder that
    was given a name since is the same source. Two publishers that fill one root at the same moment are not detected.
    """
    root = request.at or "/"
    if root not in (request.paths if request.kind is Kind.DELETE else request.deep_paths):
        return
    found = await fillers(log, blobs, topic, request)
    own = {each.source for each in found if each.publisher == publisher} - {""}
    spared = {request.source_name, name_of(Path(request.source))}
    if not request.source_name:  # a removal, or a source that is not distinguished from others
        spared = own if len(own) == 1 or request.kind is Kind.ADD else set()
    others = [each for each in found if each.publisher != publisher or each.source not in spared | {""}]
    if others and not await _is_on_the_log(log, topic, publisher, request.request_id):
        raise RootFilled(_refusal(request.kind, root, others))


def _refusal(kind: Kind, root: str, others: list[Filler]) -> str:
    names = ", ".join(map(str, others[:NAMED])) + (f" and {len(others) - NAMED} more" if len(others) > NAMED else "")
    if kind is Kind.DELETE:
        return f"this removes everything, including what came from {names}; name paths, or add --replace-root"
    return (
        f"this replaces everything at {root}, including what came from {names}; "
        "put this source elsewhere with --at /PREFIX, or add --replace-root"
    )


async def _is_on_the_log(log: Log, topic: str, publisher: str, request_id: str) -> bool:
    """Whether this repeats an earlier request, so that it changes nothing."""
    first, end = await log.bounds(topic)
    async for record in backwards(log, topic, max(first, end - LOOK_BACK), end):
        if record.header("cause") == request_id and record.header("publisher") == publisher:
            return True
    return False


async def fillers(log: Log, blobs: BlobStore, topic: str, request: DistributeRequest) -> tuple[Filler, ...]:
    """Who filled the root that the request replaces, newest first."""
    root = request.at or "/"
    found: dict[tuple[str, str], Filler] = {}
    gone: set[str] = set()  # what later packages removed or replaced
    first, end = await log.bounds(topic)
    async for record in backwards(log, topic, max(first, end - LOOK_BACK), end):
        message = opened(record)
        if not isinstance(message, PackageMessage) or message.kind not in (Kind.ADD, Kind.DELETE):
            continue
        to, wanted = set(message.recipients), set(request.recipients)
        if to and wanted and to.isdisjoint(wanted):
            continue
        if message.kind is Kind.ADD and await _fills(message, root, gone, blobs):
            who = Filler(message.publisher, message.source, record.offset)
            found.setdefault((who.publisher, who.source), who)
        if to and not (wanted and wanted <= to):
            continue  # recipients only: at all others, earlier content is still there
        trees = message.paths if message.kind is Kind.DELETE else message.deep_paths
        if any(within(root, tree) for tree in trees):
            break
        gone.update(tree for tree in trees if within(tree, root))
    return tuple(found.values())


async def _fills(message: PackageMessage, root: str, gone: set[str], blobs: BlobStore) -> bool:
    """Whether some of the package's content is still in the tree."""
    inside = [path for path in message.paths if within(path, root) and (path != "/" or path in message.deep_paths)]
    if any(gone.isdisjoint(with_parents([path])) for path in inside):
        return True
    if not any(within(root, tree) and root != tree for tree in message.deep_paths):
        return False
    try:
        with tempfile.TemporaryDirectory(prefix="callboard-fillers-") as spool:
            entries = await entries_of(message, blobs, Path(spool))
    except (BlobError, PackageError, SchemaTooNew):
        return True  # assume so if unknown
    return any(within(entry.path, root) and gone.isdisjoint(with_parents([entry.path])) for entry in entries)
