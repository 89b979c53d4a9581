"""A path changes its kind, and the old entry is gone."""

from itertools import permutations

from callboard.backends.repository import Put
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    Shape,
    a_file,
    a_folder,
    a_link,
    file,
    folder,
    link,
    opened,
    shapes,
)

_KINDS: list[tuple[list[Put], dict[str, Shape]]] = [
    ([file("/x", "f")], {"/x": a_file("f")}),
    ([link("/x", "other")], {"/x": a_link("other")}),
    ([folder("/x"), file("/x/in")], {"/x": a_folder(), "/x/in": a_file()}),
    ([file("/x/y/z")], {"/x": a_folder(), "/x/y": a_folder(), "/x/y/z": a_file()}),
]


async def check_any_kind_replaces_any_other(harness: RepositoryHarness) -> None:
    """From one apply to the next."""
    async with opened(harness) as repository:
        for (first, _), (second, wanted) in permutations(_KINDS, 2):
            await repository.apply([file("/x"), *first], b"")
            await repository.apply(second, b"")
            if len(wanted) == 1:
                assert shapes(repository) == wanted
            else:
                assert wanted.items() <= shapes(repository).items()


async def check_any_kind_replaces_any_other_within_one_apply(harness: RepositoryHarness) -> None:
    """Only the last one counts."""
    async with opened(harness) as repository:
        for (first, _), (second, wanted) in permutations(_KINDS, 2):
            await repository.apply([link("/x", "gone"), *first, file("/x"), *second], b"")
            assert shapes(repository) == wanted


async def check_a_link_in_the_place_of_a_parent_is_replaced(harness: RepositoryHarness) -> None:
    """It is not followed: what it points to stays as it is."""
    async with opened(harness) as repository:
        await repository.apply([file("/real/f", "old"), link("/alias", "real")], b"")
        await repository.apply([file("/alias/f", "new")], b"")
        assert shapes(repository) == {
            "/alias": a_folder(),
            "/alias/f": a_file("new"),
            "/real": a_folder(),
            "/real/f": a_file("old"),
        }


async def check_a_file_in_the_place_of_a_parent_is_replaced(harness: RepositoryHarness) -> None:
    """A path implies that its parents are folders."""
    async with opened(harness) as repository:
        await repository.apply([file("/a")], b"")
        await repository.apply([file("/a/b/c")], b"")
        assert shapes(repository) == {"/a": a_folder(), "/a/b": a_folder(), "/a/b/c": a_file()}
