"""The archive's progress, in a small file: written by the process that archives, read by the retention."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from callboard.backends.local.disk import replacing
from callboard.errors import RequestRefused


@dataclass(frozen=True, slots=True)
class ArchiveTip:
    """Everything up to and including ``offset`` of the package topic with the identity ``log_id`` is archived.

    ``topics`` maps every other archived topic to its first offset that is not archived.
    """

    log_id: str
    offset: int
    topics: Mapping[str, int] = field(default_factory=dict)


def write_tip(path: Path, tip: ArchiveTip) -> None:
    """Write the tip. Call it only once everything it covers is durable. Raises ``OSError``."""
    with replacing(path) as file:
        file.write(json.dumps(asdict(tip)).encode() + b"\n")


def read_tip(path: Path, log_id: str) -> ArchiveTip:
    """Read the position of this log's archive.

    Raises ``RequestRefused`` if that cannot be determined: nothing may then be removed for being archived.
    """
    try:
        tip = ArchiveTip(**json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise RequestRefused(
            f"the archive's position cannot be read from {path}: {error.strerror}; start archiving, or "
            'set retention.gate = "subscribers"',
            code="undetermined",
        ) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestRefused(
            f"{path} does not hold the archive's position: {error}; write it again", code="damaged"
        ) from error
    if not (isinstance(tip.topics, dict) and all(isinstance(each, int) for each in (tip.offset, *tip.topics.values()))):
        raise RequestRefused(f"{path} does not hold the archive's position: no offset; write it again", code="damaged")
    if tip.log_id != log_id:
        raise RequestRefused(
            f"{path} is about log {str(tip.log_id)[:8]}, and this is log {log_id[:8]}; archive this one as well",
            code="mismatch",
        )
    return tip
