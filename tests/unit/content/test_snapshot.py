"""A snapshot restores what was put into it, or raises an error."""

import pytest

from callboard.backends.repositories.folder_source import FolderSource
from callboard.content import snapshot
from callboard.content.package_format.package import open_package
from callboard.content.snapshot import read_snapshot, write_snapshot
from callboard.errors import PackageCorrupt, RequestRefused, SchemaTooNew
from tests.refused import refused


@pytest.fixture
def taken(tmp_path):
    """The file of a snapshot."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "large").write_bytes(b"large" * 100_000)
    write_snapshot(FolderSource(tmp_path / "site"), b"ledger \x00", tmp_path / "snapshot", 7)
    return tmp_path / "snapshot"


def test_a_snapshot_restores_the_ledger_and_the_content_with_large_files(taken, tmp_path):
    found = read_snapshot(taken, tmp_path / "package")
    assert (found.ledger, found.taken_ns) == (b"ledger \x00", 7)
    package = open_package(tmp_path / "package")
    assert (package.paths, package.deep_paths, package.entries, package.blobs) == (("/",), ("/",), 2, {})
    assert not list(tmp_path.glob("*.part"))


def test_a_wrong_byte_is_detected_anywhere(taken, tmp_path):
    good = taken.read_bytes()
    for position in (0, 100, len(good) // 2, len(good) - 41, len(good) - 10):
        taken.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        with pytest.raises(PackageCorrupt, match="is damaged"):
            read_snapshot(taken, tmp_path / "package")


def test_a_truncated_or_foreign_file_is_no_snapshot(taken, tmp_path):
    good = taken.read_bytes()
    for content in (b"", b"x", b"x" * 1000, good[:-1], good[100:]):
        taken.write_bytes(content)
        with pytest.raises((RequestRefused, PackageCorrupt)):
            read_snapshot(taken, tmp_path / "package")
        assert not (tmp_path / "package").exists()


def test_a_newer_format_is_refused(tmp_path, monkeypatch):
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(snapshot, "FORMAT", 2)
    write_snapshot(FolderSource(tmp_path / "site"), b"", tmp_path / "snapshot", 7)
    monkeypatch.setattr(snapshot, "FORMAT", 1)
    with pytest.raises(SchemaTooNew, match="upgrade callboard"):
        read_snapshot(tmp_path / "snapshot", tmp_path / "package")


def test_an_existing_file_is_not_replaced(taken, tmp_path):
    before = taken.read_bytes()
    with refused("exists"):
        write_snapshot(FolderSource(tmp_path / "site"), b"", taken, 8)
    assert taken.read_bytes() == before
