"""The list of what a subscriber has, which ``verify`` reads: a blob that any process may have stored."""

import tempfile
from pathlib import Path

from callboard.content.survey import read_survey
from callboard.errors import PackageCorrupt

LINES = (
    b'{"path": "/", "kind": "FOLDER", "mode": 493, "digest": "", "target": ""}\n'
    b'{"path": "/a", "kind": "FILE", "mode": 420, "digest": "' + b"ab" * 32 + b'", "target": ""}\n'
)


def seeds() -> list[bytes]:
    return [LINES, b'{"path": 1}', b"[" * 100_000, b'{"path": "/../x", "kind": "LINK"}']


def run(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list"
        file.write_bytes(data)
        try:
            found = list(read_survey(file))
        except PackageCorrupt as error:
            assert "list" in str(error)
            assert "again" in str(error)
            return
        assert all(entry.path.startswith("/") and type(entry.mode) is int for entry in found)
