"""The quarantine: blobs found unused by one run, to be removed only if a later run finds them unused too."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from callboard.errors import RequestRefused, SchemaTooNew
from callboard.pipeline.collect.references import Span
from callboard.pipeline.document import write_document
from callboard.pipeline.run import CURRENT

FORMAT = 1
"""The file's format; an older callboard does not touch a newer one."""

QUARANTINE = "quarantine.json"
SWEPT = "swept.json"
CANDIDATES = "candidate"
"""The table of blobs: ``key``, ``size``, ``stored_ns``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Describes the candidates, which are in a table beside this.

    They were all put before ``since_ns``, and nothing in ``spans`` refers to them. At ``time_ns`` the ``store`` held
    ``blobs`` blobs of ``length`` bytes in total.
    """

    time_ns: int
    since_ns: int
    store: str
    archive: str
    blobs: int
    length: int
    candidates: int
    candidate_bytes: int
    spans: dict[str, Span]
    format: int = FORMAT

    @property
    def share(self) -> float:
        """The candidates' share of all blobs, from 0 to 1."""
        return self.candidates / self.blobs if self.blobs else 0.0


_QUARANTINE = TypeAdapter(Quarantine)


def save(quarantine: Quarantine, place: Path) -> None:
    """Write it beside its table."""
    write_document(place / QUARANTINE, asdict(quarantine))


def load(folder: Path) -> tuple[Quarantine, Path]:
    """The newest quarantine, and where its table is. Raises ``RequestRefused`` if there is none to sweep."""
    place = (folder / CURRENT).resolve()
    try:
        content = (place / QUARANTINE).read_bytes()
    except FileNotFoundError:
        raise RequestRefused(
            f"no blobs are under quarantine in {folder}; run `callboard pipeline collect --out {folder}` first",
            code="not_found",
        ) from None
    try:
        if (known := json.loads(content).get("format", 0)) > FORMAT:
            raise SchemaTooNew(f"{place / QUARANTINE} is of format {known}, and this callboard knows {FORMAT}; upgrade")
        found = _QUARANTINE.validate_json(content, strict=True)
    except (ValidationError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise RequestRefused(
            f"{place / QUARANTINE} is damaged: {error}; remove {folder}, and start over", code="damaged"
        ) from error
    if (place / SWEPT).exists():
        raise RequestRefused(
            f"the blobs under quarantine in {folder} have been removed; run `callboard pipeline collect --out "
            f"{folder}` without --delete to find more",
            code="gone",
        )
    return found, place
