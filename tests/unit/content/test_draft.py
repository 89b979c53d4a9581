"""Writing packages: what is read, what is refused, and how much memory it takes."""

import gc
import hashlib
import tracemalloc
from dataclasses import replace

import pytest

from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import Entry, EntryKind, Keep, Put
from callboard.content.package_format import draft as module
from callboard.content.package_format.draft import draft
from callboard.content.package_format.package import open_package
from callboard.errors import RepositoryUnavailable, RequestRefused
from tests.refused import refused


class Odd:
    """A source with arbitrary entries."""

    def __init__(self, *entries):
        self.all = entries

    def entries(self, path, deep):
        return iter([entry for entry in self.all if deep or entry.path == path])


def file(path, size, *chunks):
    return Entry(path, EntryKind.FILE, 0o644, size, open=lambda: iter(chunks))


def packed(source, paths, deep, spool, **options):
    with draft(source, paths, deep, spool, **options) as drafted:
        return b"".join(drafted.stream())


def test_a_draft_knows_its_length_digest_and_entries_and_can_be_streamed_repeatedly(sample, spool):
    with draft(sample(), ["/"], ["/"], spool) as drafted:
        data = b"".join(drafted.stream())
        assert data == b"".join(drafted.stream())
        assert (drafted.length, drafted.digest) == (len(data), hashlib.sha256(data).hexdigest())
        assert drafted.entries == len(sample())
    drafted.close()


def test_equal_content_gives_equal_packages(sample, spool):
    assert packed(sample(), ["/top", "/blog"], ["/blog"], spool) == packed(
        sample(), ["/blog", "/top", "/top"], ["/blog"], spool
    )


def test_a_draft_leaves_no_file_even_while_it_is_open(sample, spool):
    with draft(sample(), ["/"], ["/"], spool):
        assert list(spool.iterdir()) == []


def test_large_files_are_referenced_and_named_once(new_tree, spool):
    tree = new_tree().file("/a", b"12345").file("/b", b"12345").file("/c", b"1234")
    with draft(tree, ["/"], ["/"], spool, blob_threshold=4) as drafted:
        (large,) = drafted.large
        assert (large.size, b"".join(large.open())) == (5, b"12345")
        assert large.digest == hashlib.sha256(b"12345").hexdigest()
        assert b"".join(drafted.stream()).endswith(b"1234")
        assert drafted.entries == 4


def test_beyond_the_limit_of_blobs_files_are_inline(new_tree, spool, monkeypatch):
    monkeypatch.setattr(module, "BLOBS_MAX", 2)
    tree = new_tree().file("/a", b"aaaaa").file("/b", b"bbbbb").file("/c", b"ccccc")
    with draft(tree, ["/"], ["/"], spool, blob_threshold=4) as drafted:
        assert len(drafted.large) == 2
        assert b"".join(drafted.stream()).endswith(b"ccccc")


def test_paths_inside_a_deep_path_come_once(sample, spool):
    inside = packed(sample(), ["/blog", "/blog/2026/a.html", "/blog/2026"], ["/blog", "/blog/2026"], spool)
    package = open_package(inside)
    assert package.paths == ("/blog", "/blog/2026", "/blog/2026/a.html")
    assert package.entries == 7
    assert set(package.trees) == {"/blog"}


def test_a_requested_folder_comes_before_a_path_below_it(sample, spool):
    operations = list(open_package(packed(sample(), ["/blog", "/blog/2026/none"], [], spool)).operations({}))
    assert [type(operation).__name__ for operation in operations] == ["Put", "Keep", "Put"]
    assert operations[1] == Keep("/blog/2026", 0o755)


@pytest.mark.parametrize(
    ("paths", "deep", "match"),
    [
        ([], [], "no paths"),
        (["/gone"], [], "/gone"),
        (["/blog/gone/x"], [], "/blog/gone/x"),
        (["/blog/../top"], [], "not normalised"),
        (["top"], [], "absolute"),
        (["/.callboard"], [], "reserved"),
        (["/top"], ["/blog"], "not among the paths"),
        (["/blog", "/blog/gone"], ["/blog"], "/blog/gone"),
    ],
)
def test_an_invalid_request_is_refused(sample, spool, paths, deep, match):
    with pytest.raises(RequestRefused, match=match):
        draft(sample(), paths, deep, spool)


@pytest.mark.parametrize("threshold", [0, 1000])
@pytest.mark.parametrize("chunks", [[], [b"ab"], [b"ab", b"cd"]])
def test_a_file_that_changed_its_size_is_refused(spool, threshold, chunks):
    with refused("changed"):
        draft(Odd(file("/f", 3, *chunks)), ["/f"], [], spool, blob_threshold=threshold)


def test_a_file_that_keeps_growing_is_not_read_for_ever(spool):
    def endless():
        while True:
            yield b"x"

    with refused("changed"):
        draft(Odd(replace(file("/f", 3), open=endless)), ["/f"], [], spool)


def test_a_file_that_cannot_be_read_is_refused(spool):
    def broken():
        yield b"x"
        raise OSError(5, "Input/output error")

    with refused("inaccessible"):
        draft(Odd(replace(file("/f", 3), open=broken)), ["/f"], [], spool)


def test_an_unwritable_spool_is_an_error_that_can_be_repaired(sample, tmp_path, monkeypatch):
    monkeypatch.setattr("callboard.content.package_format.draft.IN_MEMORY_MAX", 1)
    with pytest.raises(RepositoryUnavailable, match="make room"):
        draft(sample(), ["/top"], [], tmp_path / "nowhere")


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [Entry("/", EntryKind.FOLDER), file("/a/b", 0)],
        [Entry("/", EntryKind.FOLDER), file("/a", 0), file("/a", 0)],
        [Entry("/", EntryKind.FOLDER), file("/../a", 0)],
        [Entry("/", EntryKind.FOLDER), Entry("/l", EntryKind.LINK, target="../x")],
        [Entry("/", EntryKind.FOLDER), Entry("/l", EntryKind.LINK, target="\udc80")],
        [Entry("/", EntryKind.FOLDER), Entry("/a", EntryKind.FOLDER, target="b")],
    ],
)
def test_a_draft_refuses_what_a_reader_would_refuse(spool, entries):
    with pytest.raises(RequestRefused):
        draft(Odd(*entries), ["/"], ["/"], spool)


def test_a_file_as_a_parent_folder_is_refused(spool):
    with refused("not_found"):
        draft(Odd(file("/a", 0), file("/a/b", 0)), ["/a/b"], [], spool)


def test_mode_bits_beyond_the_nine_permissions_are_not_shipped(new_tree, spool, tmp_path):
    data = packed(new_tree().file("/f", b"", 0o4755), ["/f"], [], spool)
    (put,) = open_package(data).operations({})
    assert put.entry.mode == 0o755


@pytest.mark.parametrize("threshold", [1 << 10, 1 << 30])
def test_a_large_file_is_streamed_in_bounded_memory(tmp_path, spool, threshold):
    root = tmp_path / "site"
    root.mkdir()
    with (root / "big").open("wb") as out:
        for number in range(64):
            out.write(bytes([number]) * (1 << 20))
    gc.collect()
    tracemalloc.start()
    try:
        with draft(FolderSource(root), ["/"], ["/"], spool, blob_threshold=threshold) as drafted:
            with (tmp_path / "package").open("wb") as out:
                out.writelines(drafted.stream())
            blobs = {large.digest: root / "big" for large in drafted.large}
        package = open_package(tmp_path / "package")
        puts = (operation for operation in package.operations(blobs) if isinstance(operation, Put))
        assert sum(len(chunk) for put in puts for chunk in put.entry.open()) == 64 << 20
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
