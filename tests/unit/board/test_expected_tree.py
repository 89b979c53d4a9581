"""The tree that packages describe equals that of a repository that imports them; every difference is reported."""

import random

import pytest

from callboard.backends.repository import EntryKind
from callboard.board.read.expected_tree import ExpectedTree
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.content.survey import Surveyed
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

ROOT = Surveyed("/", EntryKind.FOLDER, 0o755)


def digest(content: str) -> str:
    return content * 64


def file(path: str, content: str = "a", mode: int = 0o644) -> ManifestEntry:
    return ManifestEntry(Form.FILE, path, mode, 1, digest(content))


def folder(path: str, form: Form = Form.FOLDER) -> ManifestEntry:
    return ManifestEntry(form, path, 0o755)


def there(path: str, content: str = "a", mode: int = 0o644) -> Surveyed:
    return Surveyed(path, EntryKind.FILE, mode, digest(content))


def there_folder(path: str) -> Surveyed:
    return Surveyed(path, EntryKind.FOLDER, 0o755)


def package(kind: Kind, *paths: str, deep: bool = False) -> PackageMessage:
    return PackageMessage(
        publisher_instance="i",
        publisher="site",
        package_id="p",
        kind=kind,
        paths=paths,
        deep_paths=paths if deep else (),
    )


def tree(*steps: tuple[PackageMessage, list[ManifestEntry] | None]) -> ExpectedTree:
    expected = ExpectedTree()
    for offset, (message, entries) in enumerate(steps, start=1):
        expected.add(message, entries, offset)
    return expected


SITE = (package(Kind.ADD, "/s", deep=True), [folder("/s"), file("/s/a"), file("/s/b")])


def wrong(expected: ExpectedTree, *found: Surveyed, scope: tuple[str, ...] = ("/",)) -> tuple[list[tuple], int]:
    differences, unknown = expected.differences(found, scope)
    return [(each.path, each.what, each.offset) for each in differences], unknown


def test_expected_content_is_no_difference():
    assert wrong(tree(SITE), ROOT, there_folder("/s"), there("/s/a"), there("/s/b")) == ([], 0)


def test_missing_extra_and_different_paths_are_reported_with_the_package_responsible():
    newer = (package(Kind.ADD, "/s/a"), [folder("/s", Form.KEEP), file("/s/a", "b")])
    found = (ROOT, there_folder("/s"), there("/s/a"), there("/s/c"))
    told = [("/s/a", "differs", 2), ("/s/b", "missing", 1), ("/s/c", "extra", 1)]
    assert wrong(tree(SITE, newer), *found) == (told, 0)


@pytest.mark.parametrize(
    ("found", "detail"),
    [
        (there("/s/a", "b"), "has other content"),
        (there("/s/a", mode=0o600), "has mode 600, not 644"),
        (there_folder("/s/a"), "is a folder, not a file"),
    ],
)
def test_a_difference_says_what_differs(found, detail):
    [difference] = tree(SITE).differences([there_folder("/s"), found, there("/s/b")], ("/",))[0]
    assert (difference.path, difference.what, difference.detail) == ("/s/a", "differs", detail)


def test_a_deleted_path_is_expected_to_be_gone_with_everything_below():
    expected = tree(SITE, (package(Kind.DELETE, "/s"), None))
    assert wrong(expected, ROOT) == ([], 0)
    assert wrong(expected, ROOT, there_folder("/s"), there("/s/x")) == ([("/s", "extra", 2), ("/s/x", "extra", 2)], 0)


def test_paths_of_no_package_are_unknown_and_no_difference():
    assert wrong(tree(SITE), ROOT, there_folder("/s"), there("/s/a"), there("/s/b"), there("/other")) == ([], 1)


def test_everything_below_a_package_without_its_manifest_is_unknown_until_the_next_one():
    expected = tree(SITE, (package(Kind.ADD, "/s", deep=True), None))
    assert wrong(expected, ROOT, there("/s/x")) == ([], 1)
    expected.add(*SITE, 3)
    assert wrong(expected, ROOT, there_folder("/s"), there("/s/a"), there("/s/b"), there("/s/x")) == (
        [("/s/x", "extra", 3)],
        0,
    )


def test_only_requested_paths_can_be_missing():
    assert wrong(tree(SITE), there("/s/a"), scope=("/s/a",)) == ([], 0)
    assert wrong(tree(SITE), scope=("/s/b",)) == ([("/s/b", "missing", 1)], 0)


def test_a_file_that_replaces_a_folder_removes_everything_below():
    expected = tree(SITE, (package(Kind.ADD, "/s"), [file("/s")]))
    assert wrong(expected, ROOT, there("/s")) == ([], 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_expected_tree_of_random_packages_equals_that_of_a_repository(seed):
    """A model with plain dictionaries: files only, in two levels of folders."""
    rng = random.Random(seed)
    expected, model = ExpectedTree(), dict[str, str]()
    for offset in range(1, 60):
        top = f"/{rng.randrange(3)}"
        names = [f"{top}/{rng.randrange(5)}" for _ in range(rng.randrange(1, 4))]
        kind = rng.choice(["deep", "shallow", "delete tree", "delete file"])
        content = rng.choice("abc")
        if kind == "delete tree":
            expected.add(package(Kind.DELETE, top), None, offset)
        elif kind == "delete file":
            expected.add(package(Kind.DELETE, *names), None, offset)
        elif kind == "deep":
            entries = [folder(top), *(file(name, content) for name in sorted(set(names)))]
            expected.add(package(Kind.ADD, top, deep=True), entries, offset)
        else:
            entries = [folder(top, Form.KEEP), *(file(name, content) for name in sorted(set(names)))]
            expected.add(package(Kind.ADD, *sorted(set(names))), entries, offset)
        if kind in ("deep", "delete tree"):
            model = {path: text for path, text in model.items() if not path.startswith(top + "/")}
        for name in names:
            if kind == "delete file":
                model.pop(name, None)
            elif kind != "delete tree":
                model[name] = content
        found = [there(path, text) for path, text in model.items()]
        differences, _ = expected.differences(found, ("/",))
        assert [each for each in differences if each.path.count("/") > 1] == [], f"seed {seed}, offset {offset}"
