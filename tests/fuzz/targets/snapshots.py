"""A snapshot of a repository. A first byte of 1 corrects the digest, as any process can."""

import hashlib
import tempfile
from pathlib import Path

from callboard.backends.repositories.folder_source import FolderSource
from callboard.content.package_format.package import open_package
from callboard.content.snapshot import MAGIC, read_snapshot, write_snapshot
from callboard.errors import PackageError, RequestRefused, SchemaTooNew

TAIL_BYTES = 4 + 32 + len(MAGIC)


def seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        (site := Path(folder) / "site").mkdir()
        (site / "file").write_bytes(b"content")
        write_snapshot(FolderSource(site), b"ledger", Path(folder) / "snapshot", 7)
        good = (Path(folder) / "snapshot").read_bytes()
    return [b"\0" + good, b"\1" + good]


def run(data: bytes) -> None:
    snapshot = data[1:]
    if data[:1] == b"\1" and len(snapshot) >= TAIL_BYTES:
        body, tail = snapshot[:-TAIL_BYTES], snapshot[-TAIL_BYTES:]
        snapshot = body + tail[:4] + hashlib.sha256(body).digest() + tail[-4:]
    with tempfile.TemporaryDirectory() as folder:
        file, package = Path(folder) / "snapshot", Path(folder) / "package"
        file.write_bytes(snapshot)
        try:
            read_snapshot(file, package)
        except (RequestRefused, PackageError, SchemaTooNew) as error:
            assert str(file) in str(error)  # where, and behind the semicolon what to do
            assert ";" in str(error)
            assert not package.exists()
            return
        try:
            list(open_package(package).operations({}))
        except (PackageError, SchemaTooNew, RequestRefused) as error:
            assert ";" in str(error)
