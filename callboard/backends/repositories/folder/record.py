"""The file that carries a ledger and, as the intent, the steps that belong to it.

A line of JSON (format, serial, draft, size, and the token if there is one), the ledger, one step a line as JSON, and
the sha-256 of all that.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.fence import Token
from callboard.backends.local.disk import write_all
from callboard.backends.repositories.folder.plan import Step
from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import EntryKind
from callboard.errors import RequestRefused, SchemaTooNew

FORMAT = 2
"""Incremented with every change that an older version would misread."""

UNFENCED_FORMAT = 1
"""The format without a token, which an older version can read."""

_STEPS_A_WRITE = 500

_SENSELESS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, RequestRefused)
"""The errors of parsing arbitrary bytes as JSON, numbers and paths; overflows and recursion come from 1e999 and a
million brackets."""


class Torn(Exception):
    """The file is incomplete."""


@dataclass(frozen=True, slots=True)
class Record:
    """A ledger and its steps. ``serial`` counts the durable ledgers, ``draft`` the drafts after the durable one.
    ``token`` is the highest one of a leader.
    """

    serial: int
    draft: int
    ledger: bytes
    steps: Sequence[Step] = ()
    token: Token | None = None


def write_record(path: Path, record: Record, durable: bool, folder: int | None = None) -> None:
    """Overwrite the file with the record. ``folder`` is a descriptor of the file's folder. Raises ``OSError``."""
    # Truncate at the end, not at the start: the file system then need not allocate space again.
    descriptor = _opened(path, os.O_WRONLY | os.O_CREAT, folder)
    try:
        digest = hashlib.sha256()

        def write(data: bytes) -> None:
            digest.update(data)
            write_all(descriptor, data)

        sizes = {"serial": record.serial, "draft": record.draft, "ledger": len(record.ledger)}
        fence = {} if record.token is None else {"token": [record.token.log_id, record.token.leader_epoch]}
        header = {"format": FORMAT if fence else UNFENCED_FORMAT, **sizes, **fence}
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


def read_record(path: Path, folder: int | None = None) -> Record | None:
    """The record in the file; None if there is no file. ``folder`` is a descriptor of the file's folder.

    Raises:
        Torn: the file is incomplete or was altered.
        SchemaTooNew: a newer version wrote it.
    """
    try:
        descriptor = _opened(path, os.O_RDONLY, folder)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        data = file.read()
    head, _, rest = data.partition(b"\n")
    try:
        header = json.loads(head)
        version, size = int(header["format"]), int(header["ledger"])
        serial, draft = int(header["serial"]), int(header["draft"])
        token = _token(*header["token"]) if "token" in header else None
    except _SENSELESS:
        raise Torn from None
    if version > FORMAT:
        raise SchemaTooNew(f"{path} has format {version} but this version knows {FORMAT}; upgrade callboard")
    body, digest = data[:-64], data[-64:]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise Torn
    try:
        return Record(serial, draft, rest[:size], [_step(line) for line in rest[size + 1 : -64].splitlines()], token)
    except _SENSELESS:
        raise Torn from None


def _opened(path: Path, flags: int, folder: int | None) -> int:
    """Open the file itself: a link is not followed, and a pipe does not block."""
    try:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(path if folder is None else path.name, flags, 0o600, dir_fd=folder)
    except OSError as error:
        error.filename = str(path)
        raise


def _token(log_id: object, leader_epoch: int) -> Token:
    return Token(str(log_id), int(leader_epoch))


def _step(line: bytes) -> Step:
    """A step that ``plan`` could have made: none leaves the root or the stage, or sets more than permission bits."""
    path, kind, mode, content, fresh, touched = json.loads(line)
    step = Step(check_path(path), None if kind is None else EntryKind(kind), mode, content, fresh, touched)
    if not 0 <= step.mode <= 0o777 or (step.kind is EntryKind.FILE and not step.content.isdecimal()):
        raise ValueError(line)
    return step
