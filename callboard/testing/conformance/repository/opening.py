"""Opening and closing: one holder at a time."""

from callboard.errors import RepositoryBusy
from callboard.testing.conformance.repository.harness import RepositoryHarness, file, opened, paths
from callboard.testing.conformance.verdict import raises


async def check_a_second_instance_is_refused(harness: RepositoryHarness) -> None:
    """Until the first one closes, on every attempt."""
    second = harness.make()
    async with opened(harness) as first:
        for _ in range(2):
            with raises(RepositoryBusy):
                await second.open()
        await first.apply([file("/a")], b"first")
    assert await second.open() == b"first"
    await second.apply([file("/b")], b"second")
    assert paths(second) == ["/a", "/b"]
    await second.close()


async def check_opening_again_returns_the_ledger_that_holds(harness: RepositoryHarness) -> None:
    """A caller learns from it what became of a call that failed."""
    async with opened(harness) as repository:
        await repository.apply([file("/a")], b"one")
        assert await repository.open() == b"one"
        assert await repository.open() == b"one"
        await repository.apply([file("/b")], b"two")
        assert paths(repository) == ["/a", "/b"]


async def check_closing_is_idempotent(harness: RepositoryHarness) -> None:
    """Before the first open, after it, and again; a closed one can be reopened."""
    repository = harness.make()
    await repository.close()
    await repository.open()
    await repository.apply([file("/a")], b"one")
    await repository.close()
    await repository.close()
    assert await repository.open() == b"one"
    await repository.close()


async def check_content_is_read_without_opening(harness: RepositoryHarness) -> None:
    """A publisher exports from a repository that a subscriber, in another process, has open."""
    async with opened(harness) as repository:
        await repository.apply([file("/a")], b"")
        assert paths(harness.make()) == ["/a"]
