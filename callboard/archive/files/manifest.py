"""The archive's metadata: manifests, one for each range of offsets, and generations, the results of compactions.

Both are JSON, written once and never changed. A manifest carries the digest of the one before it, which reveals a range
that was removed, altered or inserted.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from callboard.archive.files import layout
from callboard.errors import ArchiveDamaged, SchemaTooNew

FORMAT = 1
"""Version of manifests, generations and segments. A reader accepts this one and older ones."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A Parquet file: records in order, with offsets from ``first`` to ``last`` inclusive."""

    name: str
    first: int
    last: int
    rows: int
    length: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A reference to a manifest: where its range ends, and the digest of its bytes."""

    next: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Offsets in ``[first, next)`` that were trimmed from the log before they were archived; the hole was accepted."""

    first: int
    next: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All of the topic's records with offsets in ``[first, next)``, or a hole.

    ``log_id`` is the identity of the topic they were read from; ``vector`` says where the other topics ended then.
    ``previous`` is the manifest before it, whose ``next`` is this one's ``first``; the first manifest has none.
    """

    topic: str
    log_id: str
    first: int
    next: int
    previous: Link | None
    files: tuple[Segment, ...]
    vector: dict[str, int]
    time_ns: int
    hole: bool = False
    format: int = FORMAT

    @property
    def holes(self) -> tuple[Hole, ...]:
        """The range, if it is a hole."""
        return (Hole(first=self.first, next=self.next),) if self.hole else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The records of all manifests up to ``last``, in other files, which replace theirs.

    ``previous`` is the digest of the generation before it, empty for the first.
    """

    topic: str
    number: int
    log_id: str
    first: int
    last: Link
    previous: str
    files: tuple[Segment, ...]
    time_ns: int
    holes: tuple[Hole, ...] = field(default=())
    format: int = FORMAT


def encode(document: Manifest | Generation) -> bytes:
    """The bytes of a manifest or a generation."""
    return json.dumps(asdict(document), indent=1).encode() + b"\n"


def digest(content: bytes) -> str:
    """The digest by which the next document refers to this one."""
    return hashlib.sha256(content).hexdigest()


def decode_manifest(name: str, content: bytes) -> Manifest:
    """The manifest. Raises ``ArchiveDamaged`` and ``SchemaTooNew``."""
    found = _decode(_MANIFEST, name, content)
    _check(name, layout.manifest(found.topic, found.first), found.first, found.next, found.files)
    return found


def decode_generation(name: str, content: bytes) -> Generation:
    """The generation. Raises ``ArchiveDamaged`` and ``SchemaTooNew``."""
    found = _decode(_GENERATION, name, content)
    _check(name, layout.generation(found.topic, found.number), found.first, found.last.next, found.files)
    return found


_MANIFEST = TypeAdapter(Manifest)
_GENERATION = TypeAdapter(Generation)


def _decode(adapter: TypeAdapter[T], name: str, content: bytes) -> T:
    try:
        plain: Any = json.loads(content)
        if isinstance(plain, dict) and isinstance(plain.get("format"), int) and plain["format"] > FORMAT:
            raise SchemaTooNew(f"{name} is of format {plain['format']} and this callboard knows {FORMAT}; upgrade it")
        return adapter.validate_json(content, strict=True)
    except ValidationError as error:
        raise _damaged(name, f"{error.error_count()} of its fields are not as they should be") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(name, str(error)) from error


def _check(name: str, right_name: str, first: int, following: int, files: tuple[Segment, ...]) -> None:
    """Raise ``ArchiveDamaged`` unless the files lie inside the range, in order and without overlap."""
    at, right = first, name == right_name and 0 <= first <= following
    for file in files:
        right = right and at <= file.first <= file.last < following and bool(layout.SEGMENT.fullmatch(file.name))
        at = file.last + 1
    if not right:
        raise _damaged(name, "its ranges contradict one another")


def _damaged(name: str, why: str) -> ArchiveDamaged:
    return ArchiveDamaged(f"{name} is damaged: {why}; restore the archive from a copy")
