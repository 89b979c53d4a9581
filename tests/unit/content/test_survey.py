"""The list of a repository's content is complete, and equal content has equal digests."""

import asyncio
import hashlib

import pytest

from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import EntryKind
from callboard.content import survey as surveying
from callboard.content.survey import Surveyed, read_survey, survey
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from tests.refused import refused


def listed(folder, spool, *paths: str) -> tuple[str, list[Surveyed]]:
    async def body() -> tuple[str, list[Surveyed]]:
        blobs = MemoryBlobStore(lambda: 0)
        found = await survey(FolderSource(folder), blobs, paths)
        entries = list(read_survey(await blobs.fetch(found.digest, spool)))
        assert len(entries) == found.entries
        return found.digest, entries

    return asyncio.run(body())


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    (folder / "blog").mkdir(parents=True)
    (folder / "blog" / "a").write_bytes(b"a")
    (folder / "link").symlink_to("blog/a")
    for path, mode in ((folder, 0o755), (folder / "blog", 0o700), (folder / "blog" / "a", 0o640)):
        path.chmod(mode)
    return folder


def test_everything_is_listed_with_kind_mode_digest_and_target(tree, tmp_path):
    digest = hashlib.sha256(b"a").hexdigest()
    assert listed(tree, tmp_path)[1] == [
        Surveyed("/", EntryKind.FOLDER, 0o755),
        Surveyed("/blog", EntryKind.FOLDER, 0o700),
        Surveyed("/blog/a", EntryKind.FILE, 0o640, digest),
        Surveyed("/link", EntryKind.LINK, 0o777, "", "blog/a"),
    ]


def test_only_requested_paths_that_exist_are_listed(tree, tmp_path):
    assert [entry.path for entry in listed(tree, tmp_path, "/blog", "/nowhere")[1]] == ["/blog", "/blog/a"]
    assert listed(tree, tmp_path, "/nowhere")[1] == []


def test_any_change_changes_the_digest(tree, tmp_path):
    before = listed(tree, tmp_path)[0]
    assert listed(tree, tmp_path)[0] == before
    (tree / "blog" / "a").chmod(0o600)
    assert listed(tree, tmp_path)[0] != before


def test_too_many_entries_are_refused(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(surveying, "ENTRIES_MAX", 3)
    with refused("too_large"):
        listed(tree, tmp_path)
    assert len(listed(tree, tmp_path, "/blog")[1]) == 2
