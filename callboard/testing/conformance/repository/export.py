"""Reading the content."""

from callboard.backends.repository import Put, Repository
from callboard.errors import RequestRefused
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    a_file,
    file,
    folder,
    link,
    opened,
    paths,
    shapes,
)


def _refuses(repository: Repository, path: str) -> bool:
    try:
        list(repository.entries(path, deep=True))
    except RequestRefused as error:
        return path in str(error) or repr(path)[1:-1] in str(error)
    return False


async def check_parents_come_first_and_names_sorted(harness: RepositoryHarness) -> None:
    """By name within a folder: /a/x comes before /a-b, and capitals before small letters."""
    async with opened(harness) as repository:
        await repository.apply([file(path) for path in ("/b", "/a-b", "/a/x", "/a/B", "/a/b/c", "/Z", "/ü")], b"")
        assert paths(repository) == ["/Z", "/a", "/a/B", "/a/b", "/a/b/c", "/a/x", "/a-b", "/b", "/ü"]


async def check_a_shallow_read_is_the_entry_alone(harness: RepositoryHarness) -> None:
    """Of any kind."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b"), link("/l", "a")], b"")
        for path in ("/", "/a", "/a/b", "/l"):
            assert [entry.path for entry in repository.entries(path, deep=False)] == [path]


async def check_a_deep_read_stays_below_its_path(harness: RepositoryHarness) -> None:
    """And does not go through links."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b/c"), file("/ab"), file("/a0"), folder("/x"), link("/x/l", "../a")], b"")
        assert paths(repository, "/a") == ["/a/b", "/a/b/c"]
        assert paths(repository, "/x") == ["/x/l"]
        assert paths(repository, "/x/l") == []


async def check_large_content_comes_in_chunks(harness: RepositoryHarness) -> None:
    """Complete, and never more than a few megabytes at once."""
    content = bytes(range(256)) * 4096 * 3 + b"end"
    async with opened(harness) as repository:
        await repository.apply([file("/large", content), file("/empty")], b"")
        (entry,) = repository.entries("/large", deep=False)
        chunks = list(entry.open())
        assert b"".join(chunks) == content
        assert entry.size == len(content)
        assert max(map(len, chunks)) <= 4 << 20
        assert b"".join(entry.open()) == content, "content can be read again"
        assert shapes(repository)["/empty"] == a_file()


async def check_what_is_not_there_is_refused(harness: RepositoryHarness) -> None:
    """With the path in the message; also below a file or a link."""
    async with opened(harness) as repository:
        await repository.apply([file("/f"), file("/d/x"), link("/l", "d")], b"")
        assert all(_refuses(repository, path) for path in ("/nothing", "/d/nothing", "/f/x", "/l/x"))


async def check_what_leaves_the_root_is_refused(harness: RepositoryHarness) -> None:
    """So are the repository's own files."""
    async with opened(harness) as repository:
        assert all(_refuses(repository, path) for path in ("/..", "a", "/a/../..", "/a\0", "/.callboard", "//"))


async def check_an_export_can_be_imported(harness: RepositoryHarness) -> None:
    """Entries from an export can be applied, even while they are read from the place where they are put."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/f", "x", 0o600), link("/a/l", "f"), folder("/a/e", 0o700)], b"")
        before = shapes(repository)
        await repository.apply(map(Put, list(repository.entries("/", deep=True))), b"")
        assert shapes(repository) == before
