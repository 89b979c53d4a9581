"""From a message to operations: only what was published, and all of it, reaches a repository."""

import hashlib
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.backends.repository import Delete, EntryKind
from callboard.content.importing.apply import needed_blobs, operations
from callboard.content.package_format.draft import draft
from callboard.content.package_format.layout import leading_folders
from callboard.errors import BlobMissing, PackageCorrupt, PackageRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

FOLDER, FILE, LINK = EntryKind


def message(kind, **fields):
    return PackageMessage(publisher_instance="i", publisher="site", package_id="p-1", kind=kind, **fields)


def shipped(source, paths, deep, spool, **options):
    """The message of an ADD and its content."""
    with draft(source, paths, deep, Path(spool), **options) as drafted:
        fields = {
            "paths": drafted.paths,
            "deep_paths": drafted.deep_paths,
            "content_digest": drafted.digest,
            "blobs": tuple(file.digest for file in drafted.large),
        }
        return message(Kind.ADD, **fields), b"".join(drafted.stream())


def test_a_deep_add_makes_the_tree_equal_to_the_shipped_one(sample, new_tree, spool):
    target = new_tree().file("/old", b"old").folder("/blog").file("/blog/old", b"old").folder("/top")
    add, content = shipped(sample(), ["/"], ["/"], spool)
    assert target.apply(operations(add, content, {})) == sample()


def test_a_shallow_add_of_a_folder_leaves_its_children(sample, new_tree, spool):
    target = new_tree().folder("/blog", 0o700).file("/blog/old", b"old")
    add, content = shipped(sample(), ["/blog"], [], spool)
    assert target.apply(operations(add, content, {})) == target | {"/blog": (FOLDER, 0o750, b"")}
    assert target["/blog/old"] == (FILE, 0o644, b"old")


def test_a_file_replaces_a_folder_and_a_folder_a_file(new_tree, spool):
    source = new_tree().file("/a", b"file").folder("/b").file("/b/x", b"x")
    target = new_tree().folder("/a").file("/a/x", b"x").file("/b", b"file").link("/c", "a")
    for paths, deep in ((["/a", "/b"], ["/a", "/b"]), (["/a", "/b/x"], [])):
        add, content = shipped(source, paths, deep, spool)
        after = new_tree(dict(target)).apply(operations(add, content, {}))
        assert after == source | {"/c": target["/c"]}


def test_nothing_is_written_through_a_link_in_the_target(new_tree, spool):
    source = new_tree().folder("/a").folder("/a/b").file("/a/b/f", b"f")
    add, content = shipped(source, ["/a/b/f"], [], spool)
    assert new_tree().link("/a", "elsewhere").apply(operations(add, content, {})) == source


def test_delete_removes_its_paths_and_other_kinds_change_nothing(sample):
    delete = message(Kind.DELETE, paths=("/blog", "/gone"))
    assert list(operations(delete, None, {})) == [Delete("/blog"), Delete("/gone")]
    for kind in (Kind.TEST, Kind.INVALIDATE):
        assert list(operations(message(kind, paths=("/blog",)), None, {})) == []


@pytest.mark.parametrize("path", ["/../a", "a", "", "/.callboard/ledger", "/a\0"])
def test_a_delete_outside_the_root_is_refused_before_anything_is_deleted(path):
    with pytest.raises(PackageRefused):
        next(operations(message(Kind.DELETE, paths=("/a", path)), None, {}))


def test_every_flipped_bit_is_detected_before_the_first_operation(sample, spool):
    add, content = shipped(sample(), ["/blog"], ["/blog"], spool)
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(PackageCorrupt, match="instead of"):
                next(operations(add, bytes(damaged), {}))


@pytest.mark.parametrize(
    "claim", [{"entries": 4_000_000_000}, {"length": 2**40}, {"length": 1}, {"total_bytes": 2**40}, {"total_bytes": 1}]
)
def test_a_package_with_other_entries_or_bytes_than_its_record_claims_is_refused(claim, sample, spool):
    add, content = shipped(sample(), ["/blog"], ["/blog"], spool)
    with pytest.raises(PackageRefused, match="claims"):
        next(operations(replace(add, **claim), content, {}))


def test_truncated_or_missing_content_is_corrupt(sample, spool, tmp_path):
    add, content = shipped(sample(), ["/blog"], ["/blog"], spool)
    for end in range(len(content)):
        with pytest.raises(PackageCorrupt):
            next(operations(add, content[:end], {}))
    with pytest.raises(PackageCorrupt, match="has none"):
        next(operations(add, None, {}))
    with pytest.raises(BlobMissing):
        next(operations(add, tmp_path / "gone", {}))


def test_a_package_that_does_not_match_its_record_is_refused(sample, spool):
    add, content = shipped(sample(), ["/top"], [], spool, blob_threshold=0)
    digest = hashlib.sha256(content).hexdigest()
    fields = {"paths": ("/top",), "content_digest": digest, "blobs": add.blobs}
    for other in ({"paths": ("/other",)}, {"deep_paths": ("/top",)}, {"blobs": ()}, {"format": "zip"}):
        with pytest.raises(PackageRefused):
            next(operations(message(Kind.ADD, **(fields | other)), content, {}))
    with pytest.raises(BlobMissing):
        next(operations(message(Kind.ADD, **fields), content, {}))


def test_only_digests_are_requested_from_the_blob_store():
    digest = "0f" * 32
    assert needed_blobs(message(Kind.ADD, blobs=(digest,), content_ref="ab" * 32)) == (digest,)
    assert needed_blobs(message(Kind.DELETE, blobs=(digest,))) == ()
    for wrong in ("../../etc/passwd", digest.upper(), digest + "\n", ""):
        with pytest.raises(PackageRefused):
            needed_blobs(message(Kind.ADD, blobs=(wrong,)))
    with pytest.raises(PackageRefused):
        needed_blobs(message(Kind.ADD, content_ref="../x"))


names = st.sampled_from(["a", "a-", "b", "\u00e9", "e\u0301", "\U0001f600 x"])
places = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
nodes = (
    st.tuples(st.just(FOLDER), st.sampled_from([0o755, 0o700]), st.just(b""))
    | st.tuples(st.just(FILE), st.sampled_from([0o644, 0o600]), st.binary(max_size=6))
    | st.tuples(st.just(LINK), st.just(0o777), st.sampled_from([b"a", b"b/a"]))
)


@st.composite
def trees(draw):
    tree = {"/": (FOLDER, 0o755, b"")}
    for path, node in sorted(draw(st.dictionaries(places, nodes, max_size=8)).items()):
        if all(tree.setdefault(folder, tree["/"])[0] is FOLDER for folder in leading_folders(path)):
            tree[path] = node
    return tree


def expected(before, source, paths, deep):
    """The effect of an ADD, computed without operations."""

    def below(path, other):
        return other != path and other.startswith(path.rstrip("/") + "/")

    after = dict(before)
    for path in sorted(paths):
        for folder in leading_folders(path):
            if after.get(folder, (None,))[0] is not FOLDER:
                after[folder] = source[folder]
        whole = path in deep or source[path][0] is not FOLDER or after.get(path, (None,))[0] is not FOLDER
        if whole:
            after = {p: node for p, node in after.items() if not below(path, p)}
        after[path] = source[path]
        if path in deep:
            after |= {p: node for p, node in source.items() if below(path, p)}
    return after


@settings(deadline=None, max_examples=200)
@given(data=st.data(), source=trees(), target=trees(), threshold=st.sampled_from([3, 100]))
def test_an_add_has_the_specified_effect_on_any_tree(new_tree, data, source, target, threshold):
    paths = data.draw(st.lists(st.sampled_from(sorted(source)), min_size=1, max_size=4))
    deep = data.draw(st.lists(st.sampled_from(paths), max_size=2))
    with tempfile.TemporaryDirectory() as spool:
        add, content = shipped(new_tree(source), paths, deep, spool, blob_threshold=threshold)
        blobs = {digest: Path(spool, digest) for digest in add.blobs}
        for _, _, body in source.values():
            digest = hashlib.sha256(body).hexdigest()
            if digest in blobs:
                blobs[digest].write_bytes(body)
        after = new_tree(target).apply(operations(add, content, blobs))
    assert after == expected(target, source, paths, deep)
