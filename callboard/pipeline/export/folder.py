"""The folder of an export: the job, its plan, what is built, and what is published. It outlives the processes.

``job.json`` is written once, then ``plan.parquet`` with every part and its sequence. ``part/N`` has the built parts of
round N as Parquet, and ``published.json`` says how far they are on the log. All get their names when complete, and
do not change after that.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from callboard.errors import RequestRefused
from callboard.pipeline.document import write_document
from callboard.pipeline.export.parts import Part

T = TypeVar("T")

ROUND_PARCELS = 256
"""Parcels built together, with about a million entries; a killed run has to build one round again."""

PLAN = pa.schema(
    [
        ("sequence", pa.int64()),
        ("kind", pa.string()),
        ("paths", pa.list_(pa.string())),
        ("deep_paths", pa.list_(pa.string())),
    ]
)

STAGED = pa.schema(
    [
        ("job", pa.string()),
        *PLAN,
        ("content", pa.binary()),
        ("content_ref", pa.string()),
        ("content_digest", pa.string()),
        ("length", pa.int64()),
        ("entries", pa.int64()),
        ("blobs", pa.list_(pa.string())),
        ("built_ns", pa.int64()),
        ("total_bytes", pa.int64()),
    ]
)
"""A built part; the fields are those of its package. Its blobs were put at ``built_ns`` or later."""

PLAN_ROWS = 1000
"""Parcels in memory while the plan is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An export: the tree at ``path`` of the folder ``source``, in the name of ``publisher``.

    With ``replace``, what subscribers have at the path is deleted first. ``log_id`` and ``end`` are the identity of the
    package topic, and where it ended before the first package.
    """

    job: str
    source: str
    path: str
    publisher: str
    replace: bool
    log_id: str
    end: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The parts below ``next`` are on the log, all of them below ``end``."""

    next: int
    end: int


class ExportFolder:
    """One process at a time works on it; see ``locked``."""

    def __init__(self, folder: Path, round_parcels: int = ROUND_PARCELS) -> None:
        self.folder, self._round = folder, round_parcels

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Raises ``RequestRefused`` while another process works on it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RequestRefused(
                    f"another process works on the export in {self.folder}; let it finish", code="busy"
                ) from None
            yield
        finally:
            os.close(descriptor)

    def job(self) -> Job | None:
        """What was begun here. Raises ``RequestRefused`` for a damaged file."""
        return _read(self.folder / "job.json", _JOB)

    def begin(self, job: Job) -> None:
        """Save the job."""
        write_document(self.folder / "job.json", asdict(job))

    def plan(self, parts: Iterable[Part], *, replace: str) -> None:
        """Write the plan; with ``replace`` it begins with the deletion of this path."""
        draft = self.folder / "plan.parquet.new"
        rows = _plan_rows(parts, replace)
        with pq.ParquetWriter(draft, PLAN) as writer:
            while some := list(islice(rows, PLAN_ROWS)):
                writer.write_batch(pa.RecordBatch.from_pylist(some, schema=PLAN))
        rename(draft, self.plan_file)

    @property
    def plan_file(self) -> Path:
        """The path of the plan, if it is written."""
        return self.folder / "plan.parquet"

    def planned(self) -> int:
        """The number of parts."""
        return int(pq.read_metadata(self.plan_file).num_rows)

    def rounds(self) -> list[range]:
        """The sequences of each round."""
        count = self.planned()
        return [range(start, min(start + self._round, count)) for start in range(0, count, self._round)]

    def staged(self, number: int) -> Path:
        """Where the parts of a round are once built."""
        return self.folder / "part" / f"{number:010d}"

    @contextmanager
    def staging(self, number: int) -> Iterator[Path]:
        """A draft folder, renamed to the round's if the block succeeds."""
        draft = self.staged(number).with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        yield draft
        rename(draft, self.staged(number))

    def parts(self, number: int) -> list[dict[str, Any]]:
        """The rows of a round, in order. Raises ``RequestRefused`` unless they match the plan."""
        table = pq.read_table(self.staged(number), schema=STAGED).sort_by("sequence")
        rows: list[dict[str, Any]] = table.to_pylist()
        if [row["sequence"] for row in rows] != list(self.rounds()[number]):
            raise RequestRefused(
                f"parts are missing in {self.staged(number)}; remove it, and run the export again", code="damaged"
            )
        return rows

    def progress(self, job: Job) -> Progress:
        """The last saved progress; more may be on the log."""
        return _read(self.folder / "published.json", _PROGRESS) or Progress(0, job.end)

    def advance(self, progress: Progress) -> None:
        """Save the progress."""
        write_document(self.folder / "published.json", asdict(progress))


def rename(draft: Path, name: Path) -> None:
    """Give a complete file or folder its name."""
    draft.rename(name)


_JOB = TypeAdapter(Job)
_PROGRESS = TypeAdapter(Progress)


def _read(path: Path, adapter: TypeAdapter[T]) -> T | None:
    try:
        return adapter.validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise RequestRefused(
            f"{path} is damaged: {error}; remove {path.parent}, and start over", code="damaged"
        ) from error


def _plan_rows(parts: Iterable[Part], replace: str) -> Iterator[dict[str, Any]]:
    if replace:
        yield {"sequence": 0, "kind": "DELETE", "paths": [replace], "deep_paths": []}
    for sequence, part in enumerate(parts, start=1 if replace else 0):
        yield {"sequence": sequence, "kind": "ADD", "paths": list(part.paths), "deep_paths": list(part.deep_paths)}
