"""Files, folders and links come out as they were put."""

from callboard.backends.repository import Delete
from callboard.testing.conformance.repository.harness import (
    RepositoryHarness,
    a_file,
    a_folder,
    a_link,
    file,
    folder,
    link,
    opened,
    shapes,
)


async def check_entries_come_out_as_they_were_put(harness: RepositoryHarness) -> None:
    """Content, modes and targets."""
    async with opened(harness) as repository:
        await repository.apply([folder("/a", 0o750), file("/a/f", "text", 0o640), link("/a/l", "f")], b"")
        assert shapes(repository) == {"/a": a_folder(0o750), "/a/f": a_file("text", 0o640), "/a/l": a_link("f")}


async def check_any_mode_comes_out(harness: RepositoryHarness) -> None:
    """Regardless of the umask, and even if the owner may not write."""
    modes = [0o400, 0o444, 0o500, 0o555, 0o600, 0o644, 0o664, 0o666, 0o700, 0o755, 0o775, 0o777]
    async with opened(harness) as repository:
        puts = [put for mode in modes for put in (file(f"/f{mode:o}", mode=mode), folder(f"/d{mode | 0o500:o}"))]
        puts += [folder(f"/d{mode | 0o500:o}", mode | 0o500) for mode in modes]
        await repository.apply(puts, b"")
        found = shapes(repository)
        assert all(found[f"/f{mode:o}"] == a_file(mode=mode) for mode in modes)
        assert all(found[f"/d{mode | 0o500:o}"] == a_folder(mode | 0o500) for mode in modes)


async def check_parents_that_are_not_named_are_made(harness: RepositoryHarness) -> None:
    """As folders with the default mode."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b/c")], b"")
        assert shapes(repository) == {"/a": a_folder(), "/a/b": a_folder(), "/a/b/c": a_file()}


async def check_a_later_put_replaces_an_earlier_one(harness: RepositoryHarness) -> None:
    """In the same apply and in the next."""
    async with opened(harness) as repository:
        await repository.apply([file("/a", "1"), file("/a", "2", 0o600)], b"")
        assert shapes(repository) == {"/a": a_file("2", 0o600)}
        await repository.apply([file("/a", "3")], b"")
        assert shapes(repository) == {"/a": a_file("3")}


async def check_putting_a_folder_keeps_its_children(harness: RepositoryHarness) -> None:
    """Only its mode changes."""
    async with opened(harness) as repository:
        await repository.apply([file("/a/b")], b"")
        await repository.apply([folder("/a", 0o700)], b"")
        assert shapes(repository) == {"/a": a_folder(0o700), "/a/b": a_file()}
        await repository.apply([folder("/a", 0o755), folder("/", 0o700)], b"")
        assert shapes(repository) == {"/a": a_folder(), "/a/b": a_file()}
        assert next(repository.entries("/", deep=False)).mode == 0o700


async def check_read_only_folders_can_be_changed(harness: RepositoryHarness) -> None:
    """The mode limits readers of the content, not the repository."""
    async with opened(harness) as repository:
        await repository.apply([folder("/a", 0o555), file("/a/b/c", mode=0o444), folder("/a/b", 0o555)], b"")
        await repository.apply([file("/a/b/c", "new", 0o444), file("/a/d")], b"")
        assert shapes(repository) == {
            "/a": a_folder(0o555),
            "/a/b": a_folder(0o555),
            "/a/b/c": a_file("new", 0o444),
            "/a/d": a_file(),
        }


async def check_names_are_any_text(harness: RepositoryHarness) -> None:
    """Letters that look alike stay different; characters that are special elsewhere are not."""
    names = ["ü", "u\u0308", "日本語", "a b", "a\nb", "%_*?[x]", "'\";--", "\\", "~", "-rf", "..a", "a."]
    names += ["\x01", "n" * 255]
    async with opened(harness) as repository:
        puts = [file(f"/{name}/{name}", name) for name in names]
        await repository.apply([*puts, link("/l", "日/ü")], b"")
        found = shapes(repository)
        assert all(found[f"/{name}/{name}"] == a_file(name) for name in names)
        assert found["/l"] == a_link("日/ü")


async def check_a_link_may_point_nowhere(harness: RepositoryHarness) -> None:
    """Its target is text; what it points to may come later, or be its own parent."""
    async with opened(harness) as repository:
        await repository.apply([link("/l", "not/there"), link("/a/up", ".."), link("/self", "self")], b"")
        found = shapes(repository)
        assert [found[path] for path in ("/l", "/a/up", "/self")] == [a_link("not/there"), a_link(".."), a_link("self")]


async def check_deep_trees_are_no_problem(harness: RepositoryHarness) -> None:
    """They are put and removed, much deeper than calls can be nested."""
    deep = "/d" * 1000
    async with opened(harness) as repository:
        await repository.apply([file(f"{deep}/f", "x")], b"")
        assert shapes(repository)[f"{deep}/f"] == a_file("x")
        await repository.apply([Delete("/d")], b"")
        assert shapes(repository) == {}
