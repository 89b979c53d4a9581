"""Limits an import to the paths that a subscriber's patterns admit; the rest of its repository is left as it is."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from callboard.backends.repositories.path_patterns import PathPatterns, taken
from callboard.backends.repository import Delete, Entry, EntryKind, Keep, Operation, Prune, Put, Source
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.content.placed import within
from callboard.errors import RepositoryUnavailable, RequestRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, SubscriberConfiguration


@dataclass(frozen=True, slots=True)
class Admission:
    """``spared`` are the paths in the repository that the patterns do not admit; no package changes them."""

    patterns: PathPatterns
    spared: tuple[str, ...] = ()

    def operations(self, operations: Iterable[Operation]) -> Iterator[Operation]:
        """The operations on admitted paths. A folder that only leads to one is kept."""
        leading: dict[str, Operation] = {}
        for operation in operations:
            match operation:
                case Delete(path):
                    yield from self._removal(path, frozenset())
                case Prune(path, keep):
                    yield from self._removal(path, keep, below=True)
                case Keep(path, mode) | Put(Entry(path, EntryKind.FOLDER, mode)):
                    if self.patterns.admits(path):
                        yield from taken(leading, path)
                        yield operation
                    elif self.patterns.leads(path):
                        leading[path] = Keep(path, mode)
                case Put(Entry(path)):
                    if self.patterns.admits(path):
                        yield from taken(leading, path)
                        yield operation
                    else:  # below a folder that has become a file, the publisher has nothing any more
                        yield from self._removal(path, frozenset(), below=True)

    def _removal(self, path: str, keep: frozenset[str], *, below: bool = False) -> Iterator[Operation]:
        if self.patterns.whole(path):
            yield Prune(path, keep) if below else Delete(path)
        elif self.patterns.leads(path):
            spared = [each for each in self.spared if within(each, path)]
            if not below and not spared and self.patterns.admits(path):
                yield Delete(path)
            else:
                yield Prune(path, frozenset(filter(self.patterns.admits, keep)).union(spared))


def admission(patterns: PathPatterns, messages: Sequence[PackageMessage], repository: Source) -> Admission | None:
    """The patterns' effect on these packages; None without patterns. Blocking.

    Raises ``RepositoryUnavailable`` if the repository's entries cannot be listed.
    """
    if not patterns:
        return None
    trees = [path for each in messages for path in (each.paths if each.kind in (Kind.ADD, Kind.DELETE) else ())]
    if all(patterns.whole(tree) or not patterns.leads(tree) for tree in trees):
        return Admission(patterns)
    try:
        held = repository.entries("/", deep=True)
        return Admission(patterns, tuple(each.path for each in held if _is_spared(each, patterns)))
    except RequestRefused as error:
        raise RepositoryUnavailable(f"the repository cannot be listed to apply the patterns: {error}") from error


def _is_spared(entry: Entry, patterns: PathPatterns) -> bool:
    if patterns.admits(entry.path):
        return False
    return entry.kind is not EntryKind.FOLDER or not patterns.leads(entry.path)


def concerns(message: PackageMessage, patterns: PathPatterns) -> bool:
    """Whether the package may change a path that the patterns admit; one without paths concerns everyone."""
    return not message.paths or any(patterns.admits(path) or patterns.leads(path) for path in message.paths)


def patterns_of(configuration: SubscriberConfiguration) -> PathPatterns:
    """The patterns that the subscriber announces."""
    return PathPatterns(configuration.include, configuration.exclude)


def admitted_entries(entries: Iterable[ManifestEntry], patterns: PathPatterns) -> Iterator[ManifestEntry]:
    """The entries of a manifest that a subscriber with these patterns has after the package."""
    leading: dict[str, ManifestEntry] = {}
    for entry in entries:
        if entry.form is Form.GONE:
            continue
        folder = entry.form in (Form.KEEP, Form.FOLDER)
        if patterns.admits(entry.path):
            yield from taken(leading, entry.path)
            yield entry
        elif folder and patterns.leads(entry.path):
            leading[entry.path] = replace(entry, form=Form.KEEP)
