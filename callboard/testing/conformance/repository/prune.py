"""Prune: paths that are not named are removed."""

from callboard.backends.repository import Delete, Operation, Prune
from callboard.testing.conformance.repository.harness import RepositoryHarness, file, folder, link, opened, paths


async def check_what_is_not_kept_goes(harness: RepositoryHarness) -> None:
    """Whole folders with what is in them, but nothing beside the path."""
    async with opened(harness) as repository:
        await repository.apply([file(path) for path in ("/a/b/c", "/a/b/d", "/a/e/f", "/a/g", "/ab", "/z")], b"")
        await repository.apply([Prune("/a", frozenset(["/a/b", "/a/b/c", "/a/g"]))], b"")
        assert paths(repository) == ["/a", "/a/b", "/a/b/c", "/a/g", "/ab", "/z"]


async def check_the_path_itself_stays(harness: RepositoryHarness) -> None:
    """Even when nothing is kept below it; the root as well."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b"), file("/c")], b"")
        await repository.apply([Prune("/a", frozenset())], b"")
        assert paths(repository) == ["/a", "/c"]
        await repository.apply([Prune("/", frozenset(["/c"]))], b"one")
        assert paths(repository) == ["/c"]
        assert await repository.open() == b"one"


async def check_the_folders_that_lead_to_what_is_kept_stay(harness: RepositoryHarness) -> None:
    """A named path is not lost because its parent is not named."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b/c/d"), file("/a/b/x"), file("/a/y")], b"")
        await repository.apply([Prune("/a", frozenset(["/a/b/c/d", "/elsewhere"]))], b"")
        assert paths(repository) == ["/a", "/a/b", "/a/b/c", "/a/b/c/d"]


async def check_a_file_or_link_leads_nowhere(harness: RepositoryHarness) -> None:
    """A path to keep below it does not exist, so it goes."""
    async with opened(harness) as repository:
        await repository.apply([file("/f"), link("/l", "d"), file("/d/x")], b"")
        await repository.apply([Prune("/", frozenset(["/f/x", "/l/x", "/d/x"]))], b"")
        assert paths(repository) == ["/d", "/d/x"]


async def check_a_path_that_is_no_folder_is_fine(harness: RepositoryHarness) -> None:
    """There is nothing below it, and a link is not followed."""
    async with opened(harness) as repository:
        await repository.apply([file("/d/x"), link("/l", "d"), file("/f")], b"")
        await repository.apply([Prune(path, frozenset()) for path in ("/l", "/f", "/not/there")], b"")
        assert paths(repository) == ["/d", "/d/x", "/f", "/l"]


async def check_it_sees_what_the_same_apply_did_before(harness: RepositoryHarness) -> None:
    """As in a deep package: put the tree, then prune the rest."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/old/x"), file("/a/both/x"), file("/a/both/old")], b"")
        operations: list[Operation] = [file("/a/new"), file("/a/both/x"), file("/a/stray"), Delete("/a/old/x")]
        keep = frozenset(["/a/new", "/a/both", "/a/both/x"])
        await repository.apply([*operations, Prune("/a", keep), file("/a/after")], b"")
        assert paths(repository) == ["/a", "/a/after", "/a/both", "/a/both/x", "/a/new"]


async def check_read_only_folders_are_pruned(harness: RepositoryHarness) -> None:
    """Modes are for readers."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b/c"), file("/a/b/d"), folder("/a/b", 0o555), folder("/a", 0o555)], b"")
        await repository.apply([Prune("/a", frozenset(["/a/b/d"]))], b"")
        assert paths(repository) == ["/a", "/a/b", "/a/b/d"]
