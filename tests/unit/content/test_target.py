"""Content from before the first subscriber is refused, kept beside that of packages, or removed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from callboard.backends.repositories import open_repository
from callboard.backends.repository import Delete, EntryKind, Keep, Operation, Prune, Put, Repository
from callboard.content.importing.found import MARK, Found
from callboard.content.importing.target import FOUND_MAX, OnOccupied, Target
from callboard.errors import RepositoryOccupied, RepositoryUnavailable, Undecodable
from callboard.testing.conformance.repository.harness import a_file, file, folder, link, paths, shapes
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore

NAMES = ("a", "b", "b-", "c")


async def occupied_place(where: str, base: Path) -> None:
    """Content without a ledger."""
    repository = open_repository(where, base)
    await repository.open(occupied=True)
    await repository.apply([file("/theirs", "mine"), file("/docs/private", "p"), file("/index", "old")], b"")
    await repository.close()


def in_each_kind(body: Callable[[Callable[[OnOccupied], Target]], object]) -> Callable[[Path, str], None]:
    @pytest.mark.parametrize("where", ["folder:content", "sqlite:content.db"])
    def test(tmp_path: Path, where: str) -> None:
        async def scenario() -> None:
            await occupied_place(where, tmp_path)
            made: list[Target] = []

            def make(on_occupied: OnOccupied = "refuse") -> Target:
                made.append(Target(open_repository(where, tmp_path), on_occupied))
                return made[-1]

            await body(make)  # type: ignore[misc]  # an async function
            for each in made:
                await each.close()

        asyncio.run(scenario())

    test.__name__ = body.__name__
    return test


@in_each_kind
async def test_a_target_with_content_is_refused_by_default(make: Callable[..., Target]) -> None:
    with pytest.raises(RepositoryOccupied, match="--adopt"):
        await make().open()
    assert paths(make()) == ["/docs", "/docs/private", "/index", "/theirs"]


@in_each_kind
async def test_replaced_content_is_removed_before_the_first_import(make: Callable[..., Target]) -> None:
    target = make("replace")
    assert await target.open() == b""
    assert paths(target) == []


@in_each_kind
async def test_a_repository_with_a_ledger_is_neither_adopted_nor_replaced(make: Callable[..., Target]) -> None:
    target = make("replace")
    await target.open()
    await target.apply([file("/a")], b"one")
    await target.close()
    for said in ("replace", "adopt", "refuse"):
        again = make(said)
        assert await again.open() == b"one"
        assert paths(again) == ["/a"]
        await again.close()


@in_each_kind
async def test_adopted_content_stays_until_a_package_names_it(make: Callable[..., Target]) -> None:
    target = make("adopt")
    assert await target.open() == b""
    assert paths(target) == []
    await target.save(b"none")
    await target.close()
    target = make()  # from here on it need not be said again
    assert await target.open() == b"none"
    await target.apply([file("/index", "new"), file("/docs/a"), Prune("/", frozenset(["/index", "/docs/a"]))], b"one")
    assert shapes(target)["/index"] == a_file("new")
    assert paths(target) == ["/docs", "/docs/a", "/index"]
    await target.apply([Delete("/docs"), Delete("/index"), Delete("/")], b"two")
    assert paths(target) == []
    await target.close()
    bare = make()
    assert paths(bare) == ["/docs", "/docs/private", "/theirs"]
    assert await bare.open() == b"two"


@in_each_kind
async def test_a_package_that_names_adopted_content_takes_it_over(make: Callable[..., Target]) -> None:
    target = make("adopt")
    await target.open()
    await target.attempt(b"try", [file("/docs", "a file now"), Delete("/theirs")], b"one")
    assert shapes(target)["/docs"] == a_file("a file now")
    assert paths(make()) == ["/docs", "/index"]
    await target.apply([Prune("/", frozenset())], b"two")
    assert paths(make()) == ["/index"]


@in_each_kind
async def test_a_failed_import_leaves_the_list_of_adopted_content_unchanged(make: Callable[..., Target]) -> None:
    target = make("adopt")
    await target.open()
    await target.save(b"none")
    with pytest.raises(Exception, match="digest"):
        await target.apply([Put(file("/theirs", "x").entry, "0" * 64)], b"one")
    assert await target.open() == b"none"
    await target.apply([Delete("/")], b"one")
    assert paths(make()) == ["/docs", "/docs/private", "/index", "/theirs"]


def test_a_target_that_cannot_be_listed_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")

    async def scenario() -> None:
        target = Target(open_repository(str(tmp_path), tmp_path), "adopt")
        with pytest.raises(RepositoryOccupied, match="cannot be adopted"):
            await target.open()
        await target.close()

    asyncio.run(scenario())


def test_a_target_with_too_many_entries_is_not_adopted() -> None:
    store = MemoryStore()
    node = store.tree["/"]
    store.tree.update({f"/{number}": node for number in range(FOUND_MAX + 1)})
    with pytest.raises(RepositoryOccupied, match="more than"):
        asyncio.run(Target(MemoryRepository(store), "adopt").open())


def test_the_error_names_a_damaged_list_of_adopted_content() -> None:
    store = MemoryStore(ledger=MARK + b"\0" * 7 + b"\x03abc" + b"ledger")
    with pytest.raises(RepositoryUnavailable, match="damaged"):
        asyncio.run(Target(MemoryRepository(store)).open())
    with pytest.raises(Undecodable):
        Found.unwrap(store.ledger)


# After any packages: their content looks as in an empty repository, and the rest is unchanged.


def random_path(rng: Random) -> str:
    return "".join(f"/{rng.choice(NAMES)}" for _ in range(rng.randint(1, 3)))


def random_operation(rng: Random) -> Operation:
    path = random_path(rng)
    choice = rng.randrange(6)
    if choice == 0:
        return Delete(rng.choice([path, path, "/"]))
    if choice == 1:
        root = rng.choice(["/", path])
        inside = "" if root == "/" else root
        return Prune(root, frozenset(inside + random_path(rng) for _ in range(rng.randint(0, 4))))
    return [file(path, str(rng.random())), link(path, "target"), folder(path), Keep(path, 0o755)][choice - 2]


async def contents(repository: Repository) -> dict[str, tuple[EntryKind, bytes]]:
    return {path: (kind, content) for path, (kind, _, content) in shapes(repository).items()}


@pytest.mark.parametrize("seed", range(60))
def test_adopted_content_and_packages_do_not_affect_each_other(seed: int) -> None:
    async def scenario() -> None:
        rng = Random(seed)
        store, empty = MemoryStore(), MemoryRepository()
        before = MemoryRepository(store)
        await before.open(occupied=True)
        await before.apply([operation for _ in range(12) if isinstance(operation := random_operation(rng), Put)], b"")
        await before.close()
        found = await contents(before)
        target = Target(MemoryRepository(store), "adopt")
        await target.open()
        await empty.open()
        for turn in range(8):
            operations = [random_operation(rng) for _ in range(rng.randint(1, 4))]
            await target.apply(operations, b"%d" % turn)
            await empty.apply(operations, b"%d" % turn)
            for operation in operations:
                found = {path: what for path, what in found.items() if not _touches(operation, path, what[0])}
            assert await contents(target) == await contents(empty)
            there = await contents(before)
            assert {path: there.get(path) for path in found} == found
            await target.close()
            target = Target(MemoryRepository(store))
            assert await target.open() == b"%d" % turn
        await target.close()

    asyncio.run(scenario())


def _touches(operation: Operation, path: str, kind: EntryKind) -> bool:
    """Whether the operation is about this very path, or stands in its way."""
    at = operation.entry.path if isinstance(operation, Put) else operation.path
    if isinstance(operation, Prune):
        return False
    if isinstance(operation, Delete):
        return at == path
    if isinstance(operation, Put) and operation.entry.kind is not EntryKind.FOLDER and path.startswith(f"{at}/"):
        return True
    return at == path or at.startswith(f"{path}/")
