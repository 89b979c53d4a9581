"""Content without a ledger is not callboard's: it is refused, and left as it is."""

from callboard.backends.repository import Delete, Repository
from callboard.errors import RepositoryOccupied
from callboard.testing.conformance.repository.harness import RepositoryHarness, file, folder, link, opened, paths
from callboard.testing.conformance.verdict import raises


async def _occupy(harness: RepositoryHarness) -> Repository:
    """Content that came without a ledger; the repository is closed again."""
    async with opened(harness) as repository:
        await repository.apply([file("/theirs/a", "a"), link("/theirs/l", "a"), folder("/empty")], b"")
    return repository


async def _check_refused(repository: Repository) -> None:
    with raises(RepositoryOccupied) as caught:
        await repository.open()
    assert str(caught[0])
    await repository.close()


async def check_content_without_a_ledger_is_refused(harness: RepositoryHarness) -> None:
    """On every attempt, by any instance; the content stays, and the repository is not held afterwards."""
    former = await _occupy(harness)
    before = paths(former)
    for repository in (former, former, harness.make(), harness.make()):
        await _check_refused(repository)
        assert paths(repository) == before == ["/empty", "/theirs", "/theirs/a", "/theirs/l"]


async def check_one_entry_is_enough(harness: RepositoryHarness) -> None:
    """Even an empty folder."""
    async with opened(harness) as repository:
        await repository.apply([folder("/empty")], b"")
    await _check_refused(harness.make())


async def check_it_is_taken_when_the_caller_knows(harness: RepositoryHarness) -> None:
    """With its content; once it has a ledger, it is a repository like any other."""
    await _occupy(harness)
    repository = harness.make()
    assert await repository.open(occupied=True) == b""
    assert await repository.open(occupied=True) == b""
    assert "/theirs/a" in paths(repository)
    await repository.apply([file("/ours")], b"one")
    await repository.close()
    assert await repository.open() == b"one"
    assert "/theirs/a" in paths(repository)
    await repository.close()


async def check_an_emptied_one_is_new(harness: RepositoryHarness) -> None:
    """Nothing is left of its past."""
    await _occupy(harness)
    repository = harness.make()
    await repository.open(occupied=True)
    await repository.apply([Delete("/")], b"")
    await repository.close()
    assert await repository.open() == b""
    assert paths(repository) == []
    await repository.close()


async def check_a_ledger_alone_is_enough(harness: RepositoryHarness) -> None:
    """It is stored before the first content, so that after a crash the repository is still recognised."""
    async with opened(harness) as repository:
        await repository.save(b"one")
    assert await repository.open() == b"one"
    await repository.apply([file("/a")], b"two")
    await repository.close()
    assert await repository.open() == b"two"
    await repository.close()
