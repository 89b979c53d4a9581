"""Whole packages, made of the bytes, imported into a folder that has snares in it: nothing outside it ever changes.

A package is made from small numbers, so that most are nearly good ones: paths of a few names, links with targets that
lead out, content that is what it says. Each package of the bytes is imported over what the one before has left.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from callboard.backends.repositories.folder.store import FolderStore
from callboard.content.importing.apply import operations
from callboard.content.package_format.manifest import Form, Header, ManifestEntry, encode_root
from callboard.errors import BlobMissing, PackageError, RepositoryUnavailable, SchemaTooNew
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

NAMES = ("a", "b", "out", "up", "..", ".", "", ".callboard", "\0", "x" * 256, "\n", "a\\b")
TARGETS = ("a", "..", "../..", "../out", "/", "a/..", "b/../../..", ".", "", "../../../outside", "./../up")
PACKAGES_MAX = 4
OUTSIDE = "what is not ours"


def seeds() -> list[bytes]:
    return [
        bytes([0, 1, 1, 0, 1, 1, 1, 0, 0]),
        bytes([0, 1, 2, 0, 1, 3, 1, 2, 0, 2, 0, 1, 4, 2, 0, 1, 1, 0]),
        bytes([1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 2, 0]),
    ]


def run(data: bytes) -> None:
    numbers = io.BytesIO(data)
    with tempfile.TemporaryDirectory() as folder, patch.object(os, "fsync"):  # waiting for the disk shows nothing here
        base, root = Path(folder), Path(folder) / "root"
        lay_snares(base, root)
        before = seen(base, but=root)
        store = FolderStore(root)
        store.open(occupied=True)
        ledger = b""
        for number, message in enumerate(messages(numbers)):
            try:
                store.apply(operations(message, message.content or None, {}), b"%d" % number)
            except (PackageError, SchemaTooNew, BlobMissing, RepositoryUnavailable):
                continue
            ledger = b"%d" % number
        store.close()
        assert seen(base, but=root) == before, "something outside the root has changed"
        assert store.open(occupied=True) == ledger, "the ledger is not that of the last import"
        store.close()
        assert not list((root / ".callboard" / "stage").iterdir()), "something was left behind"


def lay_snares(base: Path, root: Path) -> None:
    (root / "a").mkdir(parents=True)
    (base / "outside").mkdir()
    (base / "outside" / "file").write_text(OUTSIDE)
    for link, target in (("out", "../outside"), ("up", ".."), ("a/out", "../../outside/file"), ("a/up", "../..")):
        (root / link).symlink_to(target)


def seen(base: Path, but: Path) -> list[tuple[str, int, bytes]]:
    """Every path with its mode and content."""
    found = []
    for folder, folders, files in os.walk(base):
        folders[:] = [name for name in folders if Path(folder, name) != but]
        found += [(f"{folder}/{name}", os.lstat(f"{folder}/{name}").st_mode, b"") for name in folders]
        for name in files:
            path = Path(folder, name)
            found.append((str(path), path.lstat().st_mode, path.read_bytes()))
    return sorted(found)


def messages(numbers: io.BytesIO) -> Iterator[PackageMessage]:
    for _ in range(PACKAGES_MAX):
        kind, count = number(numbers), number(numbers) % 4
        roots = [(path(numbers), number(numbers) % 2 == 0) for _ in range(count)]
        if not roots:
            return
        paths, deep = tuple(each for each, _ in roots), tuple(each for each, deep in roots if deep)
        if kind % 3 == 1:
            yield PackageMessage(kind=Kind.DELETE, package_id="p", publisher_instance="i", paths=paths)
            continue
        content = package(numbers, sorted(roots))
        digest = hashlib.sha256(content).hexdigest()
        yield PackageMessage(
            kind=Kind.ADD, package_id="p", publisher_instance="i", paths=paths, deep_paths=deep, content=content,
            content_digest=digest,
        )  # fmt: skip


def package(numbers: io.BytesIO, roots: list[tuple[str, bool]]) -> bytes:
    entries, contents = list[ManifestEntry](), b""
    for _ in range(number(numbers) % 8):
        form, at = Form((1, 2, 4, 0)[number(numbers) % 4]), path(numbers)
        if form is Form.FILE:
            content = bytes([number(numbers)])
            contents += content
            entries.append(ManifestEntry(form, at, 0o644, 1, hashlib.sha256(content).hexdigest()))
        elif form is Form.LINK:
            entries.append(ManifestEntry(form, at, 0o777, target=TARGETS[number(numbers) % len(TARGETS)]))
        else:
            entries.append(ManifestEntry(form, at, 0o755))
    manifest = b"".join([encode_root(*root) for root in roots] + [entry.encode() for entry in entries])
    return Header(len(manifest), len(contents), len(roots), len(entries)).encode() + manifest + contents


def path(numbers: io.BytesIO) -> str:
    return "/" + "/".join(NAMES[number(numbers) % len(NAMES)] for _ in range(number(numbers) % 4))


def number(numbers: io.BytesIO) -> int:
    return next(iter(numbers.read(1)), 0)
