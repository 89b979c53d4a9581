"""Keep: a folder that must exist."""

from callboard.backends.repository import Keep
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    a_file,
    a_folder,
    file,
    folder,
    link,
    opened,
    shapes,
)


async def check_a_missing_folder_is_made_with_the_mode(harness: RepositoryHarness) -> None:
    """Its parents get the default mode."""
    async with opened(harness) as repository:
        await repository.apply([Keep("/", 0o700), Keep("/a/b", 0o711)], b"")
        assert shapes(repository) == {"/a": a_folder(), "/a/b": a_folder(0o711)}
        assert next(repository.entries("/", deep=False)).mode == 0o755


async def check_a_folder_that_is_there_is_left_as_it_is(harness: RepositoryHarness) -> None:
    """With its mode and children; also one that the same apply created."""
    async with opened(harness) as repository:
        await repository.apply([folder("/a", 0o700), file("/a/f"), Keep("/a", 0o755)], b"")
        await repository.apply([Keep("/a", 0o755)], b"")
        assert shapes(repository) == {"/a": a_folder(0o700), "/a/f": a_file()}


async def check_a_file_or_link_in_its_place_is_replaced(harness: RepositoryHarness) -> None:
    """A link is never followed, not even to a folder."""
    async with opened(harness) as repository:
        await repository.apply([file("/f"), folder("/d"), link("/l", "d")], b"")
        await repository.apply([Keep("/f", 0o700), Keep("/l", 0o711)], b"")
        assert shapes(repository) == {"/d": a_folder(), "/f": a_folder(0o700), "/l": a_folder(0o711)}
