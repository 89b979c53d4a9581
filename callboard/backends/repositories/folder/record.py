"""The file that carries a ledger and, as the intent, the steps that belong to it.

A line of JSON (format, serial, draft, size), the ledger, one step a line as JSON, and the sha-256 of all that.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.disk import write_all
from callboard.backends.repositories.folder.plan import Step
from callboard.backends.repository import EntryKind
from callboard.errors import SchemaTooNew

FORMAT = 1
"""Raised with every change that an older version would misread."""

_STEPS_A_WRITE = 500

_SENSELESS = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""What comes of reading as JSON, and as numbers, what is neither; the last two from 1e999 and a million brackets."""


class Torn(Exception):
    """The file is not complete."""


@dataclass(frozen=True, slots=True)
class Record:
    """A ledger and its steps. ``serial`` counts the durable ledgers, ``draft`` the drafts after such a one."""

    serial: int
    draft: int
    ledger: bytes
    steps: Sequence[Step] = ()


def write_record(path: Path, record: Record, durable: bool) -> None:
    """Write the record over what the file holds. Raises ``OSError``."""
    # Cut at the end, not emptied at the start: the file system then need not find room for it again.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        digest = hashlib.sha256()

        def write(data: bytes) -> None:
            digest.update(data)
            write_all(descriptor, data)

        sizes = {"serial": record.serial, "draft": record.draft, "ledger": len(record.ledger)}
        header = {"format": FORMAT, **sizes}
        write(json.dumps(header).encode() + b"\n" + record.ledger + b"\n")
        for start in range(0, len(record.steps), _STEPS_A_WRITE):
            steps = record.steps[start : start + _STEPS_A_WRITE]
            write("".join(json.dumps(step) + "\n" for step in steps).encode())
        write_all(descriptor, digest.hexdigest().encode())
        os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_record(path: Path) -> Record | None:
    """The record in the file; None if there is no file.

    Raises:
        Torn: the file is incomplete or was altered.
        SchemaTooNew: a newer version wrote it.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    head, _, rest = data.partition(b"\n")
    try:
        header = json.loads(head)
        version, size = int(header["format"]), int(header["ledger"])
        serial, draft = int(header["serial"]), int(header["draft"])
    except _SENSELESS:
        raise Torn from None
    if version > FORMAT:
        raise SchemaTooNew(f"{path} has format {version} but this version knows {FORMAT}; upgrade callboard")
    body, digest = data[:-64], data[-64:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise Torn
    try:
        return Record(serial, draft, rest[:size], [_step(line) for line in rest[size + 1 : -64].splitlines()])
    except _SENSELESS:
        raise Torn from None


def _step(line: bytes) -> Step:
    path, kind, mode, content, fresh, touched = json.loads(line)
    return Step(path, None if kind is None else EntryKind(kind), mode, content, fresh, touched)
