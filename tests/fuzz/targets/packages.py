"""The bytes of a package, from its first to its last: no operation leaves the root."""

from pathlib import Path

from callboard.backends.repositories.paths import check_path, link_leaves_root, parent_of
from callboard.backends.repository import EntryKind, Keep, Put
from callboard.content.package_format.footprint import footprint
from callboard.content.package_format.manifest import Form, Header, ManifestEntry, encode_root
from callboard.content.package_format.package import open_package
from callboard.errors import PackageCorrupt, PackageRefused, SchemaTooNew
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

SHA = "ab" * 32
TREE = [
    ManifestEntry(Form.KEEP, "/blog", 0o755),
    ManifestEntry(Form.FOLDER, "/blog/a", 0o700),
    ManifestEntry(Form.FILE, "/blog/a/f", 0o644, 2, SHA),
    ManifestEntry(Form.BLOB, "/blog/a/g", 0o644, 9, SHA),
    ManifestEntry(Form.LINK, "/blog/a/l", 0o777, target="f"),
]


def seeds() -> list[bytes]:
    folder = packed([("/top", False)], [ManifestEntry(Form.FOLDER, "/top", 0)])
    return [packed([("/blog/a", True)], TREE, b"hi"), folder]


def packed(roots: list[tuple[str, bool]], entries: list[ManifestEntry], contents: bytes = b"") -> bytes:
    manifest = b"".join([encode_root(*root) for root in roots] + [entry.encode() for entry in entries])
    return Header(len(manifest), len(contents), len(roots), len(entries)).encode() + manifest + contents


def run(data: bytes) -> None:
    footprint(PackageMessage(kind=Kind.ADD, package_id="p", publisher_instance="i", paths=("/a",), content=data))
    try:
        package = open_package(data)
    except (PackageCorrupt, PackageRefused, SchemaTooNew):
        return
    place = Path("/dev/null")
    try:
        operations = list(package.operations(dict.fromkeys(package.blobs, place)))
    except PackageCorrupt:  # that file has no bytes
        assert any(package.blobs.values())
        return
    folders, size = {"/"}, 0
    for operation in operations:
        path = operation.entry.path if isinstance(operation, Put) else operation.path
        assert check_path(path) == path
        assert parent_of(path) in folders, "something would be written through what is no folder"
        if isinstance(operation, Keep) or (isinstance(operation, Put) and operation.entry.kind is EntryKind.FOLDER):
            folders.add(path)
        if isinstance(operation, Put) and operation.entry.kind is EntryKind.LINK:
            assert not link_leaves_root(path, operation.entry.target)
        if isinstance(operation, Put) and operation.entry.kind is EntryKind.FILE:
            size += sum(map(len, operation.entry.open()))
    assert size <= len(data)
