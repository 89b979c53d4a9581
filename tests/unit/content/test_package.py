"""Reading packages: what the format takes, and what it never lets through."""

import io
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import EntryKind, Keep, Prune, Put
from callboard.content.package_format.draft import draft
from callboard.content.package_format.manifest import Form, Header, ManifestEntry
from callboard.content.package_format.package import open_package
from callboard.errors import BlobMissing, PackageCorrupt, PackageRefused, SchemaTooNew

FOLDER, KEEP, FILE, BLOB, LINK = Form.FOLDER, Form.KEEP, Form.FILE, Form.BLOB, Form.LINK
DENIALS = (PackageCorrupt, PackageRefused, SchemaTooNew)


def folder(path, form=FOLDER, mode=0o755):
    return ManifestEntry(form, path, mode)


def link(path, target):
    return ManifestEntry(LINK, path, 0o777, target=target)


def packed(source, paths, deep, spool, **options):
    with draft(source, paths, deep, spool, **options) as drafted:
        return b"".join(drafted.stream())


def test_a_package_lists_parents_first_and_prunes_a_tree_before_filling_it(sample, spool):
    data = packed(sample(), ["/blog/2026"], ["/blog/2026"], spool)
    operations = list(open_package(data).operations({}))
    assert operations[:2] == [Keep("/blog", 0o750), operations[1]]
    assert operations[2] == Prune("/blog/2026", frozenset({"/blog/2026/a.html", "/blog/2026/none"}))
    assert [put.entry.path for put in operations[3:]] == ["/blog/2026/a.html", "/blog/2026/none"]


def test_a_package_knows_its_paths(sample, spool):
    package = open_package(packed(sample(), ["/top", "/blog", "/top"], ["/blog"], spool))
    assert (package.paths, package.deep_paths, package.entries) == (("/blog", "/top"), ("/blog",), 8)


def test_a_package_is_read_from_a_file_or_from_memory_alike(sample, spool, tmp_path, new_tree):
    data = packed(sample(), ["/"], ["/"], spool)
    (tmp_path / "package").write_bytes(data)
    package = open_package(tmp_path / "package")
    assert new_tree().apply(package.operations({})) == new_tree().apply(open_package(data).operations({}))


def test_a_manifest_too_large_to_be_kept_is_read_again(sample, spool, new_tree, monkeypatch):
    data = packed(sample(), ["/"], ["/"], spool)
    kept = open_package(data)
    monkeypatch.setattr("callboard.content.package_format.package.MANIFEST_KEPT_BYTES", 0)
    read_again = open_package(data)

    assert (len(kept.manifest), read_again.manifest) == (kept.entries, ())
    assert new_tree().apply(read_again.operations({})) == new_tree().apply(kept.operations({})) == sample()


def test_operations_can_be_collected_and_applied_later(sample, spool, tmp_path, new_tree):
    (tmp_path / "package").write_bytes(packed(sample(), ["/"], ["/"], spool))
    assert new_tree().apply(list(open_package(tmp_path / "package").operations({}))) == sample()


def test_a_missing_package_file_is_a_missing_blob(tmp_path):
    with pytest.raises(BlobMissing):
        open_package(tmp_path / "gone")


def test_a_package_truncated_anywhere_is_corrupt(sample, spool):
    data = packed(sample(), ["/blog", "/top"], ["/blog"], spool)
    for end in range(len(data)):
        with pytest.raises(PackageCorrupt):
            open_package(data[:end])


def test_bytes_after_the_end_are_corrupt(sample, spool):
    with pytest.raises(PackageCorrupt, match="bytes instead of"):
        open_package(packed(sample(), ["/"], ["/"], spool) + b"\0")


def test_a_newer_package_format_asks_for_an_upgrade(sample, spool):
    data = packed(sample(), ["/top"], [], spool)
    with pytest.raises(SchemaTooNew, match="upgrade"):
        open_package(data[:4] + b"\0\3" + data[6:])
    with pytest.raises(PackageCorrupt, match="version 0"):
        open_package(data[:4] + b"\0\0" + data[6:])


def test_the_bytes_of_the_format_do_not_change(pack, file_of):
    data = pack([("/a/b", False)], [folder("/a", KEEP), file_of("/a/b", b"hi")], b"hi")
    assert data.hex() == (
        "4342504b0001000000000000006b00000000000000020000000100000002"
        "0000042f612f62"
        "0001ed0000000000000000" + "00" * 32 + "000200002f61"
        "0201a40000000000000002"
        "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4000400002f612f62"
        "6869"
    )  # fmt: skip


@pytest.mark.parametrize(
    "path",
    ["", "a", "//a", "/a/", "/a//b", "/..", "/a/../b", "/a/.", "/a\0b", "/.callboard", "/.callboard/x",
     "/" + "x" * 256],
)  # fmt: skip
def test_an_invalid_path_is_refused_as_root_and_as_entry(pack, file_of, path):
    with pytest.raises(PackageRefused):
        open_package(pack([(path, False)], [file_of(path, b"")]))
    with pytest.raises(PackageRefused):
        open_package(pack([("/", True)], [folder("/"), folder("/a"), file_of(path, b"")]))


@pytest.mark.parametrize(
    ("why", "roots", "entries"),
    [
        ("no path", [], [folder("/")]),
        ("no entries", [("/a", False)], []),
        ("a requested path is missing", [("/a", False), ("/b", False)], [folder("/a")]),
        ("requested twice", [("/a", False), ("/a", True)], [folder("/a")]),
        ("requests not sorted", [("/b", False), ("/a", False)], [folder("/a"), folder("/b")]),
        ("not asked for", [("/a", False)], [folder("/a"), folder("/b")]),
        ("child of a shallow path", [("/a", False)], [folder("/a"), folder("/a/b")]),
        ("sibling of a deep path", [("/a", True)], [folder("/a"), folder("/ab")]),
        ("twice", [("/a", False)], [folder("/a"), folder("/a")]),
        ("twice in a tree", [("/a", True)], [folder("/a"), folder("/a/b"), link("/a/b", "c")]),
        ("a tree twice", [("/a", True)], [folder("/a"), folder("/a")]),
        ("the root twice", [("/", True)], [folder("/"), folder("/")]),
        ("no folder before", [("/a/b", False)], [folder("/a/b")]),
        ("folder after", [("/a/b", False)], [folder("/a/b"), folder("/a", KEEP)]),
        ("below a link", [("/a", True)], [folder("/a"), link("/a/l", "x"), folder("/a/l/b")]),
        ("kept but requested", [("/a", False)], [folder("/a", KEEP)]),
        ("kept though requested", [("/a", False), ("/a/b", False)], [folder("/a", KEEP), folder("/a/b")]),
        ("kept the root", [("/", False)], [folder("/", KEEP)]),
        ("kept in a tree", [("/", True), ("/a/b", False)], [folder("/"), folder("/a", KEEP), folder("/a/b")]),
        ("kept but leads nowhere", [("/a/b", False)], [folder("/c", KEEP), folder("/a", KEEP)]),
        ("the root as a link", [("/", True)], [link("/", "a")]),
        ("link up and out", [("/l", False)], [link("/l", "../etc")]),
        ("absolute link", [("/l", False)], [link("/l", "/etc/passwd")]),
        ("link down, up and out", [("/l", False)], [link("/l", "a/../../etc")]),
        ("empty link", [("/l", False)], [link("/l", "")]),
        ("link with NUL", [("/l", False)], [link("/l", "a\0b")]),
        ("link too long", [("/l", False)], [link("/l", "x" * 4096)]),
        ("target of a folder", [("/a", False)], [ManifestEntry(FOLDER, "/a", 0o755, target="b")]),
        ("setuid", [("/a", False)], [folder("/a", mode=0o4755)]),
        ("one blob, two sizes", [("/", True)],
         [folder("/"), *(ManifestEntry(BLOB, f"/{size}", 0o644, size, "ab" * 32) for size in (1, 2))]),
    ],
)  # fmt: skip
def test_an_entry_in_the_wrong_order_is_refused(pack, why, roots, entries):
    with pytest.raises(PackageRefused):
        open_package(pack(roots, entries))


def test_a_file_as_the_parent_of_another_entry_is_refused(pack, file_of):
    with pytest.raises(PackageRefused, match="folder"):
        open_package(pack([("/", True)], [folder("/"), file_of("/a", b""), file_of("/a/b", b"")]))


def test_unknown_kinds_bad_text_and_content_of_folders_are_refused(pack, file_of):
    data = pack([("/a", False)], [folder("/a")])
    start = 30 + 5  # after the header and the requested path
    with pytest.raises(PackageRefused, match="unknown form 9"):
        open_package(data[:start] + b"\x09" + data[start + 1 :])
    with pytest.raises(PackageRefused, match="UTF-8"):
        open_package(data[:-1] + b"\xff")
    with pytest.raises(PackageRefused, match="not a file"):
        open_package(data[: start + 10] + b"\1" + data[start + 11 :])
    with pytest.raises(PackageCorrupt, match="instead of 0 or 1"):
        open_package(data[:30] + b"\2" + data[31:])


def test_sizes_that_do_not_add_up_are_corrupt(pack, file_of):
    for contents in (b"", b"hi!"):
        with pytest.raises(PackageCorrupt, match="add up"):
            open_package(pack([("/a", False)], [file_of("/a", b"hi")], contents))


def test_bytes_between_the_manifest_and_the_contents_are_corrupt(pack, file_of):
    data = pack([("/a", False)], [file_of("/a", b"hi")], b"hi")
    header = Header.read(io.BytesIO(data))
    longer = header._replace(manifest_bytes=header.manifest_bytes + 1).encode()
    with pytest.raises(PackageCorrupt, match="add up"):
        open_package(longer + data[len(longer) : -2] + b"\0" + data[-2:])


def test_a_blob_must_be_given_and_have_its_size(sample, spool, tmp_path, new_tree):
    package = open_package(packed(sample(), ["/top"], [], spool, blob_threshold=0))
    (digest,) = package.blobs
    file = tmp_path / "blob"
    for blobs in ({}, {digest: file}):
        with pytest.raises(BlobMissing, match=digest):
            next(package.operations(blobs))
    file.write_bytes(b"to")
    with pytest.raises(PackageCorrupt, match="2 bytes instead of 3"):
        next(package.operations({digest: file}))
    file.write_bytes(b"tap")
    with pytest.raises(PackageCorrupt):
        new_tree().apply(package.operations({digest: file}))
    file.write_bytes(b"top")
    assert new_tree().apply(package.operations({digest: file}))["/top"] == (EntryKind.FILE, 0o755, b"top")


names = st.sampled_from(["a", "b", "..", ".", "", ".callboard", "\0", "\u00e9", "a\nb", "x" * 300])
paths = st.lists(names, max_size=4).map(lambda parts: "/" + "/".join(parts)) | st.sampled_from(["", "a"])
targets = st.sampled_from(["", "a", "../a", "../../a", "/a", "a/..", "a/../..", "\0"])
entries = st.builds(
    ManifestEntry,
    st.sampled_from(Form),
    paths,
    st.integers(0, 0o1777),
    st.sampled_from([0, 0, 1, 2**63]),
    st.just("ab" * 32),
    targets,
)
roots = st.lists(st.tuples(paths, st.booleans()), max_size=4).map(sorted)


@settings(deadline=None, max_examples=300)
@given(roots=roots, entries=st.lists(entries, max_size=8), contents=st.binary(max_size=3))
def test_a_generated_package_is_refused_or_stays_inside_the_root(pack, roots, entries, contents):
    try:
        package = open_package(pack(roots, entries, contents))
        operations = list(package.operations(dict.fromkeys(package.blobs, Path("/dev/null"))))
    except DENIALS:
        return
    folders = {"/"}
    for operation in operations:
        path = operation.entry.path if isinstance(operation, Put) else operation.path
        assert check_path(path) == path
        assert path == "/" or (path.rpartition("/")[0] or "/") in folders
        if not isinstance(operation, Put) or operation.entry.kind is EntryKind.FOLDER:
            folders.add(path)
        if isinstance(operation, Put) and operation.entry.kind is EntryKind.LINK:
            assert not operation.entry.target.startswith("/")


@settings(deadline=None, max_examples=300)
@given(changes=st.lists(st.tuples(st.integers(0, 999), st.binary(max_size=4), st.integers(0, 4)), min_size=1))
def test_a_mutated_package_is_refused_or_stays_inside_the_root(sample, changes):
    with tempfile.TemporaryDirectory() as folder:
        data = packed(sample(), ["/blog", "/top"], ["/blog"], Path(folder))
    for anywhere, new, removed in changes:
        place = anywhere % len(data)
        data = data[:place] + new + data[place + removed :]
    try:
        operations = list(open_package(data).operations({}))
    except (*DENIALS, BlobMissing):
        return
    for operation in operations:
        assert check_path(operation.entry.path if isinstance(operation, Put) else operation.path)


def test_requested_paths_take_only_a_few_times_their_size_in_memory(pack):
    roots = [(f"/{number:04}" + "/a" * 1500, False) for number in range(40)]
    data = pack(roots, [folder("/other")])
    tracemalloc.start()
    try:
        with pytest.raises(PackageRefused, match="not requested"):
            open_package(data)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(data)
    finally:
        tracemalloc.stop()
