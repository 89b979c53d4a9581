"""The ledger: opaque, and as durable as the content."""

from callboard.backends.repository import Delete
from callboard.testing.conformance.repository.harness import RepositoryHarness, file, opened, paths


async def check_a_new_repository_has_an_empty_ledger_and_root(harness: RepositoryHarness) -> None:
    """The root itself is always there."""
    repository = harness.make()
    assert await repository.open() == b""
    assert [entry.path for entry in repository.entries("/", deep=True)] == ["/"]
    await repository.close()


async def check_the_ledger_of_an_apply_is_there_after_a_restart(harness: RepositoryHarness) -> None:
    """Together with the content."""
    async with opened(harness) as repository:
        await repository.apply([file("/a")], b"one")
        await repository.apply([file("/b")], b"two")
    repository = harness.make()
    assert await repository.open() == b"two"
    assert paths(repository) == ["/a", "/b"]
    await repository.close()


async def check_a_saved_ledger_is_there_after_a_restart(harness: RepositoryHarness) -> None:
    """Durably saved or not: the process did not lose power."""
    for ledger, durable in [(b"one", True), (b"two", False), (b"three", True), (b"four", False), (b"five", False)]:
        async with opened(harness) as repository:
            await repository.save(ledger, durable)
        repository = harness.make()
        assert await repository.open() == ledger
        await repository.close()


async def check_the_newest_ledger_wins_whichever_way_it_was_written(harness: RepositoryHarness) -> None:
    """A draft must neither hide a later apply nor be lost behind an earlier one."""
    async with opened(harness) as repository:
        await repository.save(b"draft", durable=False)
        await repository.apply([file("/a")], b"applied")
        assert await repository.open() == b"applied"
        await repository.save(b"draft again", durable=False)
        assert await repository.open() == b"draft again"
        await repository.apply([], b"applied again")
        assert await repository.open() == b"applied again"
        await repository.save(b"saved")
        assert await repository.open() == b"saved"


async def check_a_ledger_is_any_bytes(harness: RepositoryHarness) -> None:
    """It has no meaning for the repository and may be of any size; only an empty one counts as none."""
    for ledger in [b"\n", b"\0\r\n\n", bytes(range(256)), b"x" * 2_000_000, b"{}\n"]:
        async with opened(harness) as repository:
            await repository.apply([file("/a", ledger[:10])], ledger)
            assert await repository.open() == ledger
            await repository.save(ledger, durable=False)
        async with opened(harness) as repository:
            assert await repository.open() == ledger


async def check_an_apply_without_operations_stores_the_ledger(harness: RepositoryHarness) -> None:
    """And leaves the content as it is."""
    async with opened(harness) as repository:
        await repository.apply([file("/a")], b"one")
        await repository.apply((), b"two")
        await repository.apply([Delete("/not/there")], b"three")
        assert await repository.open() == b"three"
        assert paths(repository) == ["/a"]
