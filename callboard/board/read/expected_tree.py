"""What a subscriber should have, by the retained packages: a fold over their manifests, without their content."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repositories.paths import parent_of
from callboard.backends.repository import EntryKind
from callboard.content.importing.admission import admitted_entries
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.content.survey import Surveyed
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

_KINDS = {
    Form.KEEP: EntryKind.FOLDER,
    Form.FOLDER: EntryKind.FOLDER,
    Form.FILE: EntryKind.FILE,
    Form.BLOB: EntryKind.FILE,
    Form.LINK: EntryKind.LINK,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The package that an entry comes from."""

    offset: int
    publisher: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """What is wrong at a path: ``missing``, ``extra`` or ``differs``; and the package that says what belongs there."""

    path: str
    what: str
    offset: int
    publisher: str
    detail: str = ""
    source: str = ""
    """The package's source."""


@dataclass(slots=True)
class ExpectedTree:
    """``entries`` must exist. Below a path in ``whole`` nothing else may, or this is unknown (False) where the
    package's manifest is gone. Elsewhere, nothing is known of paths that no package names; and nowhere of paths that
    the subscriber's ``patterns`` exclude.
    """

    patterns: PathPatterns = PathPatterns()  # noqa: RUF009 - frozen
    entries: dict[str, tuple[ManifestEntry, Origin]] = field(default_factory=dict)
    whole: dict[str, tuple[bool, Origin]] = field(default_factory=dict)

    def add(self, message: PackageMessage, entries: Iterable[ManifestEntry] | None, offset: int) -> None:
        """Add the next package; ``entries`` is None for an ADD whose manifest is gone."""
        origin = Origin(offset, message.publisher, message.source)
        if message.kind is Kind.DELETE:
            for path in message.paths:
                self._claim(path, origin)
        elif message.kind is Kind.ADD and entries is None:
            for path in message.paths:
                self._claim(path, origin, known=False)
        elif message.kind is Kind.ADD and entries is not None:
            brought = list(admitted_entries(entries, self.patterns))
            for path in message.deep_paths:
                self._claim(path, origin)
            for entry in brought:
                self._put(entry, origin)

    def differences(self, found: Iterable[Surveyed], scope: tuple[str, ...]) -> tuple[list[Difference], int]:
        """The differences within the scope, and the number of entries that may or may not belong there."""
        wrong, unknown = [], 0
        missing = {path for path in self.entries if _within(path, scope)}
        for entry in found:
            missing.discard(entry.path)
            expected = self.entries.get(entry.path)
            if expected is not None:
                if detail := _detail(expected[0], entry):
                    wrong.append(_difference(entry.path, "differs", expected[1], detail))
            elif entry.path != "/":
                known, by = self._whole_above(entry.path)
                known = known and self.patterns.admits(entry.path)
                if known and by is not None:
                    wrong.append(_difference(entry.path, "extra", by))
                else:
                    unknown += 1
        wrong.extend(_difference(path, "missing", self.entries[path][1]) for path in missing)
        return sorted(wrong, key=lambda each: each.path.split("/")), unknown

    def _claim(self, path: str, origin: Origin, *, known: bool = True) -> None:
        """Discard what was known at and below the path."""
        for below in [each for each in self.entries if _within(each, (path,))]:
            del self.entries[below]
        for below in [each for each in self.whole if _within(each, (path,))]:
            del self.whole[below]
        self.whole[path] = (known, origin)

    def _put(self, entry: ManifestEntry, origin: Origin) -> None:
        before = self.entries.get(entry.path)
        was_folder = before is not None and _KINDS[before[0].form] is EntryKind.FOLDER
        if entry.form is Form.KEEP and was_folder:
            return
        if was_folder and _KINDS[entry.form] is not EntryKind.FOLDER:
            self._claim(entry.path, origin)
        self.entries[entry.path] = (entry, origin)

    def _whole_above(self, path: str) -> tuple[bool, Origin | None]:
        for above in _upwards(path):
            if above in self.whole:
                return self.whole[above]
        return False, None


def _difference(path: str, what: str, origin: Origin, detail: str = "") -> Difference:
    return Difference(path, what, origin.offset, origin.publisher, detail, origin.source)


def _detail(expected: ManifestEntry, found: Surveyed) -> str:
    """What differs; the modes of links, and of folders that merely lead to an entry, are ignored."""
    kind = _KINDS[expected.form]
    if kind is not found.kind:
        return f"is a {found.kind.name.lower()}, not a {kind.name.lower()}"
    if expected.digest != found.digest:
        return "has other content"
    if expected.target != found.target:
        return f"leads to {found.target}, not to {expected.target}"
    if kind is not EntryKind.LINK and expected.form is not Form.KEEP and expected.mode != found.mode:
        return f"has mode {found.mode:o}, not {expected.mode:o}"
    return ""


def _within(path: str, scope: tuple[str, ...]) -> bool:
    return any(top in ("/", path) or path.startswith(top + "/") for top in scope)


def _upwards(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = parent_of(path)
    yield path
