"""The file in which a folder repository keeps its ledger and the intent. A first byte of 1 adds the digest."""

import hashlib
import tempfile
from pathlib import Path

from callboard.backends.repositories.folder.plan import Step
from callboard.backends.repositories.folder.record import Record, Torn, read_record, write_record
from callboard.backends.repository import EntryKind
from callboard.errors import SchemaTooNew

RECORDS = (
    Record(3, 1, b"ledger"),
    Record(4, 0, b"", [Step("/", EntryKind.FOLDER, 0o755, touched=True), Step("/a", EntryKind.FILE, 0, "0")]),
)


def seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record"
        written = []
        for record in RECORDS:
            write_record(file, record, durable=False)
            written.append(file.read_bytes())
    return [b"\0" + each for each in written] + [b"\1" + each[:-64] for each in written]


def run(data: bytes) -> None:
    body = data[1:]
    if data[:1] == b"\1":
        body += hashlib.sha256(body).hexdigest().encode()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record"
        file.write_bytes(body)
        try:
            record = read_record(file)
        except (Torn, SchemaTooNew):
            return
        assert record is not None
        write_record(file, record, durable=False)
        assert read_record(file) == record
