"""The file that carries a ledger and, as the intent, the steps that belong to it.

A line of JSON (format, serial, sizes), the ledger, one step a line as JSON, and the sha-256 of all that.
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


class Torn(Exception):
    """The file is not complete."""


@dataclass(frozen=True, slots=True)
class Record:
    """A ledger, the number of durable ones before it, and its steps."""

    serial: int
    ledger: bytes
    steps: Sequence[Step] = ()


def write_record(path: Path, record: Record, durable: bool) -> None:
    """Write the record to a file that may be left over from a crash. Raises ``OSError``."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        digest = hashlib.sha256()

        def write(data: bytes) -> None:
            digest.update(data)
            write_all(descriptor, data)

        header = {"format": FORMAT, "serial": record.serial, "ledger": len(record.ledger)}
        write(json.dumps(header).encode() + b"\n" + record.ledger + b"\n")
        for start in range(0, len(record.steps), _STEPS_A_WRITE):
            steps = record.steps[start : start + _STEPS_A_WRITE]
            write("".join(json.dumps(step) + "\n" for step in steps).encode())
        write_all(descriptor, digest.hexdigest().encode())
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
        version, serial, size = int(header["format"]), int(header["serial"]), int(header["ledger"])
    except (ValueError, KeyError, TypeError):
        raise Torn from None
    if version > FORMAT:
        raise SchemaTooNew(f"{path} has format {version} but this version knows {FORMAT}; upgrade callboard")
    body, digest = data[:-64], data[-64:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise Torn
    return Record(serial, rest[:size], [_step(line) for line in rest[size + 1 : -64].splitlines()])


def _step(line: bytes) -> Step:
    path, kind, mode, content, fresh, touched = json.loads(line)
    return Step(path, None if kind is None else EntryKind(kind), mode, content, fresh, touched)
