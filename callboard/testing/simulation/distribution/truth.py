"""The oracle's own model of what every package does, as simple as possible."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from callboard.backends.repository import EntryKind
from callboard.messages.distribution.topic_messages import Kind
from callboard.testing.fakes.memory_repository import MemoryRepository, Node
from callboard.testing.simulation.distribution.acts import Publish

Tree = dict[str, bytes | None]
"""Content by path; None for a folder."""


def content(number: int, path: str, size: int) -> bytes:
    """What package ``number`` puts into a file: unique, and of the required size."""
    text = f"{number}:{path};".encode()
    return (text * (size // len(text) + 1))[: max(size, len(text))]


def source(act: Publish) -> MemoryRepository:
    """A source with exactly the package's entries."""
    repository = MemoryRepository()
    for path, size in act.files:
        for folder in above(path):
            repository.tree[folder] = Node(EntryKind.FOLDER, 0o755)
        repository.tree[path] = Node(EntryKind.FILE, 0o644, content(act.number, path, size))
    return repository


def change(tree: Tree, act: Publish) -> None:
    """Apply the package to the tree."""
    if act.kind not in (Kind.ADD, Kind.DELETE):
        return
    for path in [path for path in tree if is_below(path, act.path) or path == act.path]:
        del tree[path]
    if act.kind is Kind.ADD:
        for path, size in act.files:
            for folder in above(path):
                if tree.get(folder, b"") is not None:
                    tree[folder] = None
            tree[path] = content(act.number, path, size)


def seen(nodes: Mapping[str, Node]) -> Tree:
    """A repository's tree in comparable form."""
    return {path: None if node.kind is EntryKind.FOLDER else node.content for path, node in nodes.items()}


def above(path: str) -> list[str]:
    """The folders that lead to a path, the root first."""
    parts = path.split("/")[1:-1]
    return ["/"] + ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


def is_below(path: str, folder: str) -> bool:
    """Whether the path lies in the folder, at any depth."""
    return path.startswith(folder.rstrip("/") + "/") and path != "/"


def touch(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether a path of one equals, contains or lies in a path of the other."""
    other = tuple(other)
    return any(mine == its or is_below(mine, its) or is_below(its, mine) for mine in one for its in other)


@dataclass(slots=True)
class Sent:
    """A record of the package topic."""

    offset: int
    act: Publish
    record_id: str

    def concerns(self, subscriber: str, follows: tuple[str, ...]) -> bool:
        """Whether this subscriber has to process it."""
        act = self.act
        addressed = not act.recipients or subscriber in act.recipients
        readable_test = act.kind is Kind.TEST and act.harm != "newer"
        return addressed and not readable_test and (not follows or act.publisher in follows)
