"""What a package changes, by its paths: enough to decide whether a later package supersedes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from callboard.backends.repositories.paths import with_parents
from callboard.content.importing.apply import FORMAT
from callboard.content.package_format.compression import manifest_of
from callboard.content.package_format.layout import leading_folders
from callboard.content.package_format.manifest import Form, ManifestEntry, read_roots
from callboard.errors import PackageError, SchemaTooNew
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

LEADING_BYTES_MAX = 8 << 20
"""Limit of the folders that lead to a package's paths. Deep paths that fill one record imply hundreds of megabytes of
them, more than skipping a package could save."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Three kinds of paths, and the folders that only lead to them.

    ``trees`` are created or removed with everything below them. ``nodes`` are created folders, whose content may stay.
    ``unsure`` are one or the other. ``leading`` folders are created with this mode (None: unknown) where they are
    missing. A package that removes ``/`` removes all but the root itself, so it ``spares_root``.
    """

    trees: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
    leading: Mapping[str, int | None] = field(default_factory=dict)
    spares_root: bool = False

    def covers(self, path: str) -> bool:
        """Whether this package determines everything at and below the path."""
        return not self.trees.isdisjoint(with_parents([path])) and not (path == "/" and self.spares_root)


def footprint(message: PackageMessage) -> Footprint:
    """The footprint of a package. Content in the blob store is not fetched for this, so less is known of it."""
    if message.format != FORMAT or message.kind not in (Kind.ADD, Kind.DELETE):
        return Footprint()
    if message.kind is Kind.DELETE:
        return Footprint(trees=frozenset(message.paths), spares_root=True)
    if message.content:
        try:
            return _of_content(message.content)
        except (PackageError, SchemaTooNew):
            pass  # its importer will report what is wrong with it
    if sum(len(path) * path.count("/") for path in message.paths) > LEADING_BYTES_MAX:
        return Footprint()
    deep = frozenset(message.deep_paths)
    unsure = frozenset(message.paths) - deep
    leading = {folder for path in message.paths for folder in leading_folders(path)}
    return Footprint(trees=deep, unsure=unsure, leading=dict.fromkeys(leading - deep - unsure))


def supersedes(later: Footprint, earlier: Footprint, between: Iterable[Footprint]) -> bool:
    """Whether the repository ends up the same if the earlier package is left out.

    The later package must redo everything that the earlier one does. A folder that leads to the earlier one's paths is
    redone if the later package would create it in the same way, and no package between them creates it differently.
    """
    whole = earlier.trees | earlier.unsure
    if not whole and not earlier.nodes:
        return False  # it changes nothing in the repository, so it has another purpose
    if not all(_covered(later, earlier, path) for path in whole):
        return False
    if not all(path in later.nodes or later.covers(path) for path in earlier.nodes):
        return False
    left = {
        folder: mode
        for folder, mode in earlier.leading.items()
        if folder not in later.nodes and not later.covers(folder)
    }
    if any(mode is None or later.leading.get(folder) != mode for folder, mode in left.items()):
        return False
    if not left:
        return True
    return all(other.leading.get(folder, mode) == mode for other in between for folder, mode in left.items())


def _covered(later: Footprint, earlier: Footprint, path: str) -> bool:
    return later.covers(path) or (path == "/" and earlier.spares_root and "/" in later.trees)


def _of_content(content: bytes) -> Footprint:
    with manifest_of(content) as (header, file):
        roots = dict(read_roots(file, header.roots))
        leading: dict[str, int | None] = {}
        nodes = set()
        for _ in range(header.entries):
            entry = ManifestEntry.read(file)
            if entry.form is Form.KEEP:
                leading[entry.path] = entry.mode
            elif entry.form is Form.FOLDER and not roots.get(entry.path, True):
                nodes.add(entry.path)
    return Footprint(trees=frozenset(roots) - nodes, nodes=frozenset(nodes), leading=leading)
