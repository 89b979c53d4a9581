"""Delete: the path and everything below it."""

from callboard.backends.repository import Delete, Keep
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    a_file,
    a_folder,
    file,
    folder,
    link,
    opened,
    paths,
    shapes,
)


async def check_a_path_goes_with_everything_below_it(harness: RepositoryHarness) -> None:
    """And nothing else does, however similar its name."""
    async with opened(harness) as repository:
        await repository.apply([file(path) for path in ("/a/b/c", "/a/d", "/a-b", "/a0", "/a.", "/b")], b"")
        await repository.apply([Delete("/a")], b"")
        assert paths(repository) == ["/a-b", "/a.", "/a0", "/b"]


async def check_what_is_not_there_is_fine(harness: RepositoryHarness) -> None:
    """Also below a file or a link; no parent is created."""
    async with opened(harness) as repository:
        await repository.apply([file("/f"), folder("/d"), file("/d/x"), link("/l", "d")], b"")
        before = shapes(repository)
        await repository.apply([Delete("/x"), Delete("/x/y"), Delete("/f/y"), Delete("/l/x")], b"")
        assert shapes(repository) == before


async def check_a_link_goes_but_not_what_it_points_to(harness: RepositoryHarness) -> None:
    """A link is a separate entry."""
    async with opened(harness) as repository:
        await repository.apply([file("/d/x"), link("/l", "d")], b"")
        await repository.apply([Delete("/l")], b"")
        assert paths(repository) == ["/d", "/d/x"]


async def check_deleting_the_root_empties_it(harness: RepositoryHarness) -> None:
    """The root stays, and so does the ledger."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b"), link("/l", "a")], b"one")
        await repository.apply([Delete("/")], b"two")
        assert paths(repository) == []
        await repository.apply([file("/c"), Delete("/"), file("/d")], b"three")
        assert paths(repository) == ["/d"]
    async with opened(harness) as repository:
        assert await repository.open() == b"three"


async def check_operations_happen_in_order(harness: RepositoryHarness) -> None:
    """A put after a delete stays, a put before it does not."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/old"), folder("/a", 0o700)], b"")
        await repository.apply([file("/a/gone"), Delete("/a"), Keep("/a", 0o711), file("/a/new")], b"")
        assert shapes(repository) == {"/a": a_folder(0o711), "/a/new": a_file()}
        await repository.apply([file("/b/x"), Delete("/b/x"), Delete("/a/new")], b"")
        assert shapes(repository) == {"/a": a_folder(0o711), "/b": a_folder()}


async def check_read_only_trees_can_be_deleted(harness: RepositoryHarness) -> None:
    """Modes are for readers."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b/c", mode=0o444), folder("/a/b", 0o555), folder("/a", 0o555)], b"")
        await repository.apply([Delete("/a/b/c")], b"")
        assert shapes(repository) == {"/a": a_folder(0o555), "/a/b": a_folder(0o555)}
        await repository.apply([Delete("/a")], b"")
        assert paths(repository) == []
