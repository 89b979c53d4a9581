"""A file that is no valid snapshot is refused: the error says what is wrong, with which file, and what to do."""

import asyncio
import base64
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.backends.repositories.folder_source import FolderSource
from callboard.board.archive.archive_tip import read_tip
from callboard.board.care.seeding import seed_from_snapshot
from callboard.content.snapshot import MAGIC, write_snapshot
from callboard.content.survey import read_survey
from callboard.errors import CallboardError, PackageCorrupt
from tests.refused import refused

TAIL_BYTES = 4 + 32 + 4


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    (site := tmp_path / "site").mkdir()
    (site / "page").write_bytes(b"page")
    write_snapshot(FolderSource(site), b"ledger", tmp_path / "snapshot", 7)
    return tmp_path / "snapshot"


def sealed(package: bytes, description: bytes) -> bytes:
    """A snapshot of these parts, with its right digest."""
    body = package + description
    return body + struct.pack(">I", len(description)) + hashlib.sha256(body).digest() + MAGIC


def described(good: bytes, **changes: Any) -> bytes:
    """The same snapshot with another description; a field that becomes ... is left out."""
    (length,) = struct.unpack(">I", good[-TAIL_BYTES:][:4])
    package, text = good[: -TAIL_BYTES - length], good[-TAIL_BYTES - length : -TAIL_BYTES]
    fields = {name: value for name, value in (json.loads(text) | changes).items() if value is not ...}
    return sealed(package, json.dumps(fields).encode())


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "of a few bytes": lambda _: b"CBSN",
    "cut at the start": lambda good: good[1:],
    "cut at the end": lambda good: good[:-1],
    "with a changed byte": lambda good: bytes([good[0] ^ 1]) + good[1:],
    "described by nothing": lambda good: sealed(good, b""),
    "described by no JSON": lambda good: sealed(good, b"{"),
    "described by a list": lambda good: sealed(good, b"[]"),
    "described by brackets": lambda good: sealed(good, b"[" * 100_000),
    "described in other letters": lambda good: sealed(good, b"\xff\xfe"),
    "without a format": lambda good: described(good, format=...),
    "of a format in words": lambda good: described(good, format="one"),
    "of no format": lambda good: described(good, format=None),
    "of a newer format": lambda good: described(good, format=2),
    "without a ledger": lambda good: described(good, ledger=...),
    "with a number for a ledger": lambda good: described(good, ledger=7),
    "with a ledger in no base64": lambda good: described(good, ledger="!!!"),
    "with a ledger that is none": lambda good: described(good, ledger=base64.b64encode(b"\xff" * 20).decode()),
    "with an empty ledger": lambda good: described(good, ledger=""),
    "of a length that is too large": lambda good: described(good, length=1 << 62),
    "of a length below nothing": lambda good: described(good, length=-1),
    "of an endless length": lambda good: described(good, length=float("inf")),
    "without a package": lambda _: sealed(b"", json.dumps(
        {"format": 1, "ledger": "", "length": 0, "taken_ns": 0}).encode()),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_malformed_snapshot_is_refused_with_a_clear_error_and_seeds_nothing(
    how: str, snapshot: Path, tmp_path: Path
) -> None:
    snapshot.write_bytes(HOSTILE[how](snapshot.read_bytes()))

    async def scene() -> CallboardError:
        async with Callboard(f"sqlite:///{tmp_path}/board") as board:
            with pytest.raises(CallboardError) as caught:
                await seed_from_snapshot(
                    board.log, board.settings.topics.package, "edge", str(tmp_path / "out"), snapshot, tmp_path
                )
            return caught.value

    said = str(asyncio.run(scene()))
    assert str(snapshot) in said
    assert ";" in said, "what to do comes behind it"
    assert not (tmp_path / "out").exists()


LINE = {"path": "/a", "kind": "FILE", "mode": 420, "digest": "", "target": ""}


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{", "[" * 100_000, *(json.dumps(LINE | change) for change in (
        {"path": 1}, {"path": "a"}, {"path": "/../a"}, {"kind": "PIPE"}, {"mode": "644"}, {"mode": None}, {"digest": 0},
        {"target": []},
    ))],
)  # fmt: skip
def test_a_malformed_list_of_content_is_refused_with_a_clear_error(line: str, tmp_path: Path) -> None:
    (file := tmp_path / "list").write_text(json.dumps(LINE) + "\n" + line + "\n")
    with pytest.raises(PackageCorrupt, match=r"line 2 of list .* again"):
        list(read_survey(file))


@pytest.mark.parametrize("tip", ["", "[]", "{}", "[" * 100_000, '{"log_id": "l", "offset": "9"}', '"\xff"'])
def test_a_malformed_tip_of_the_archive_is_refused_as_damaged(tip: str, tmp_path: Path) -> None:
    (file := tmp_path / "tip").write_bytes(tip.encode("latin-1"))
    with refused("damaged"):
        read_tip(file, "l")
