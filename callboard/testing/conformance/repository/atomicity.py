"""All or nothing: an error leaves the old content and the old ledger."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from callboard.backends.repository import Delete, Entry, EntryKind, Operation, Prune, Put, Repository
from callboard.errors import BlobDamaged, CallboardError, PackageCorrupt, PackageRefused
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    a_file,
    file,
    folder,
    link,
    opened,
    shapes,
)
from callboard.testing.conformance.verdict import raises

_BEFORE = [file("/a/b", "old"), folder("/d"), link("/l", "a")]
_CHANGES: list[Operation] = [
    file("/a/b", "new"),
    Delete("/d"),
    file("/l/x"),
    folder("/a", 0o700),
    Prune("/", frozenset(["/a/b"])),
]


class _Interrupted(Exception):
    pass


async def _check_undone(harness: RepositoryHarness, last: Operation, error: type[Exception]) -> None:
    async with opened(harness) as repository:
        await repository.apply(_BEFORE, b"old")
        before = shapes(repository)
        with raises(error, by=last) as caught:
            await repository.apply([*_CHANGES, last], b"new")
        assert isinstance(caught[0], BlobDamaged) == (error is BlobDamaged)  # only that one is worth a retry
        assert shapes(repository) == before
        assert await repository.open() == b"old"
        await repository.apply([file("/after", "x")], b"after")
        assert shapes(repository) == {**before, "/after": a_file("x")}
    async with opened(harness) as repository:
        assert await repository.open() == b"after"


async def check_another_digest_undoes_everything(harness: RepositoryHarness) -> None:
    """The content was altered in transit, which another copy of the blob repairs."""
    put = file("/x", "content")
    await _check_undone(harness, replace(put, digest="0" * 64), BlobDamaged)
    await _check_undone(harness, replace(put, entry=replace(put.entry, size=8)), BlobDamaged)


async def check_too_little_content_undoes_everything(harness: RepositoryHarness) -> None:
    """The content was cut off."""
    put = file("/x", "content")
    await _check_undone(harness, Put(replace(put.entry, size=8)), PackageCorrupt)


async def check_too_much_content_undoes_everything(harness: RepositoryHarness) -> None:
    """Only the announced size was counted and limited."""
    put = file("/x", "content")
    await _check_undone(harness, Put(replace(put.entry, size=6)), PackageCorrupt)


async def check_an_error_of_the_content_undoes_everything(harness: RepositoryHarness) -> None:
    """It is raised as it is, even an ``OSError``: it is not the repository that failed."""

    def broken(error: Exception) -> Iterator[bytes]:
        yield b"first"
        raise error

    for error in (_Interrupted("gone"), OSError("the source is gone")):
        entry = Entry("/x", EntryKind.FILE, size=10, open=lambda error=error: broken(error))  # type: ignore[misc]
        await _check_undone(harness, Put(entry), type(error))


async def check_an_error_of_the_operations_undoes_everything(harness: RepositoryHarness) -> None:
    """They may be read from a package while they are applied."""

    def operations() -> Iterator[Operation]:
        yield from _CHANGES
        raise _Interrupted

    async with opened(harness) as repository:
        await repository.apply(_BEFORE, b"old")
        before = shapes(repository)
        with raises(_Interrupted):
            await repository.apply(operations(), b"new")
        assert shapes(repository) == before
        assert await repository.open() == b"old"


async def check_what_is_never_done_is_refused(harness: RepositoryHarness) -> None:
    """Paths that leave the root or are reserved, links that lead out, a root that is not a folder."""
    refused: list[Operation] = [
        *(Delete(path) for path in ("a", "/..", "/a/../b", "/a//b", "/.", "", "/a/", "/\udcff", "/a\0b")),
        *(file(path) for path in ("/.callboard", "/.callboard/ledger", "/../x", "/", "/" + "n" * 256)),
        *(link("/d/x", target) for target in ("/etc", "../../x", "", "a\0b", "x/../..", "\udcff", "t" * 5000)),
        Prune("/.callboard", frozenset()),
        link("/", "a"),
        file("/x", mode=0o4755),
        folder("/x", mode=-1),
    ]
    for operation in refused:
        await _check_undone(harness, operation, PackageRefused)


async def check_a_repository_that_is_not_open_refuses_changes(harness: RepositoryHarness) -> None:
    """Without ``open`` it is unknown what a crash left."""
    repository: Repository = harness.make()
    for call in (partial(repository.apply, [file("/x")], b""), partial(repository.save, b"")):
        with raises(CallboardError) as caught:
            await call()
        assert "open()" in str(caught[0])
    await repository.close()
