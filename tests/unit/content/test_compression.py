"""Compressed packages, and packages that remove."""

import hashlib
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from callboard.content.package_format import compression
from callboard.content.package_format.compression import manifest_of, unpacked
from callboard.content.package_format.draft import draft
from callboard.content.package_format.footprint import footprint
from callboard.content.package_format.manifest import Form, Header, ManifestEntry
from callboard.content.package_format.package import open_package
from callboard.errors import PackageCorrupt, PackageRefused, RequestRefused
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from tests.unit.content.conftest import Tree, pack_bytes

TEXT = b"<p>much the same</p>" * 2000
NOISE = random.Random(1).randbytes(5000)


def written(source: Tree, spool: Path, *deep: str, gone: frozenset[str] = frozenset(), packing: bool = True) -> bytes:
    with draft(source, deep or ("/",), deep or ("/",), spool, gone=gone, compressed=packing) as it:
        data = b"".join(it.stream())
        assert (it.length, it.digest) == (len(data), hashlib.sha256(data).hexdigest())
        assert it.unpacked >= len(data)
        return data


def header(data: bytes | Path) -> Header:
    with manifest_of(data) as (it, _):
        return it


def claiming(data: bytes, **changed: Any) -> bytes:
    """The package with another header."""
    it = header(data)
    return it._replace(**changed).encode() + data[it.size :]


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.proves("P4")
def test_a_package_that_shrinks_is_compressed_and_has_the_same_effect(as_file: bool, tmp_path: Path) -> None:
    source = Tree().folder("/a").file("/a/b", TEXT).file("/c", b"").link("/l", "a")
    data = written(source, tmp_path)
    assert len(data) < len(TEXT) / 10
    (tmp_path / "package").write_bytes(data)
    it = open_package(tmp_path / "package" if as_file else data, tmp_path)
    assert Tree({"/old": source["/c"]}).apply(it.operations({})) == source
    assert (tmp_path / "package").read_bytes() == data


@pytest.mark.proves("P4")
def test_a_package_that_does_not_shrink_is_stored_as_it_is_and_every_version_reads_it(tmp_path: Path) -> None:
    source = Tree().file("/noise", NOISE)
    assert written(source, tmp_path) == written(source, tmp_path, packing=False)
    assert header(written(source, tmp_path)).version == 1
    assert header(written(Tree().file("/a", TEXT), tmp_path, packing=False)).version == 1


@pytest.mark.parametrize(("limit", "most"), [("EXPANSION_MAX", 10), ("MANIFEST_MAX", 10)])
def test_what_shrinks_more_than_a_reader_accepts_is_stored_as_it_is(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, path = written(Tree().file("/zeros", bytes(60_000)).folder("/x"), tmp_path), tmp_path / "package"
    path.write_bytes(data)
    assert header(data).compressed
    monkeypatch.setattr(compression, limit, most)
    monkeypatch.setattr(compression, "INLINE_UNPACKED_MAX", 1000)
    assert not header(written(Tree().file("/zeros", bytes(60_000)).folder("/x"), tmp_path)).compressed
    with pytest.raises(PackageCorrupt, match="claims to unpack to"):
        open_package(path, tmp_path)
    with pytest.raises(PackageCorrupt, match="claims to unpack to"):
        header(path)


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"content_bytes": 1 << 40}, "claims to unpack to"),
        ({"content_bytes": len(TEXT) - 1}, "does not unpack to the"),
        ({"content_bytes": len(TEXT) + 1}, "does not unpack to the"),
        ({"manifest_bytes": 0, "content_bytes": 1}, "does not unpack to the"),
    ],
)
@pytest.mark.proves("P5")
def test_a_package_that_unpacks_to_another_size_than_it_claims_is_refused(
    changed: dict[str, int], why: str, as_file: bool, tmp_path: Path
) -> None:
    data = claiming(written(Tree().file("/a", TEXT), tmp_path), **changed)
    (tmp_path / "package").write_bytes(data)
    with pytest.raises(PackageCorrupt, match=why):
        open_package(tmp_path / "package" if as_file else data, tmp_path)


@pytest.mark.proves("P5")
def test_a_bomb_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    packing = zstandard.ZstdCompressor().compressobj()
    frame = b"".join(packing.compress(bytes(1 << 20)) for _ in range(256)) + packing.flush()
    honest, lying = (Header(40, size - 40, 1, 1, 2, True).encode() + frame for size in (256 << 20, 1 << 20))
    tracemalloc.start()
    try:
        for data in (honest, lying):
            with pytest.raises(PackageCorrupt):
                open_package(data)
            with pytest.raises(PackageCorrupt):
                unpacked(data, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("at", range(27, 60, 3))
def test_a_damaged_frame_is_an_error_of_its_own(at: int, tmp_path: Path) -> None:
    data = written(Tree().file("/a", TEXT), tmp_path)
    for harmed in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
        try:
            it = open_package(harmed)
        except (PackageCorrupt, PackageRefused):
            continue
        assert it.entries  # only the content is not the same, and its digest says so
    with pytest.raises(PackageCorrupt, match="unknown compression 7"):
        open_package(data[:6] + b"\7" + data[7:])


def test_the_manifest_of_a_compressed_package_is_read_without_its_contents(tmp_path: Path) -> None:
    data = written(Tree().folder("/a").file("/a/b", TEXT), tmp_path, "/a")
    message = PackageMessage(
        publisher_instance="i", publisher="p", package_id="1", kind=Kind.ADD, paths=("/a",), deep_paths=("/a",),
        content=data,
    )  # fmt: skip
    assert footprint(message).trees == {"/a"}


def test_a_path_that_is_gone_is_removed_with_all_below_it(tmp_path: Path) -> None:
    before = Tree().folder("/a").folder("/a/old").file("/a/old/x", b"1").file("/a/y", b"2").file("/z", b"3")
    now = Tree().folder("/a").file("/a/y", b"new").file("/z", b"3")
    with draft(now, ["/a/old", "/a/y"], ["/a/old"], tmp_path, gone=frozenset({"/a/old"})) as it:
        data = b"".join(it.stream())
    assert header(data) == Header(header(data).manifest_bytes, 3, 2, 3, version=2)
    assert Tree(dict(before)).apply(open_package(data).operations({})) == now


@pytest.mark.parametrize(
    ("roots", "entries"),
    [
        ([("/a", False)], [ManifestEntry(Form.GONE, "/a", 0)]),
        ([("/a", True)], [ManifestEntry(Form.FOLDER, "/a", 0o755), ManifestEntry(Form.GONE, "/a/b", 0)]),
        ([("/", True)], [ManifestEntry(Form.GONE, "/", 0)]),
        ([("/a", True)], [ManifestEntry(Form.GONE, "/b", 0)]),
    ],
)
def test_only_a_requested_tree_may_be_gone_and_never_the_root(
    roots: list[tuple[str, bool]], entries: list[ManifestEntry]
) -> None:
    with pytest.raises(PackageRefused):
        open_package(pack_bytes(roots, entries))


def test_the_bytes_of_version_2_do_not_change() -> None:
    entry = ManifestEntry(Form.GONE, "/a", 0)
    data = Header(54, 0, 1, 1, version=2).encode() + pack_bytes([("/a", True)], [entry])[30:]
    header_, root, gone = "4342504b000200", "0100022f61", "050000"
    assert data.hex() == f"{header_}{54:016x}{0:016x}{1:08x}{1:08x}{root}{gone}{0:016x}{0:064x}00020000{b'/a'.hex()}"
    assert open_package(data).paths == ("/a",)


def test_a_missing_folder_of_a_path_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestRefused):
        draft(Tree(), ["/a/b"], ["/a/b"], tmp_path, gone=frozenset({"/a/b"}))
