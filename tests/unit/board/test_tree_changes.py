"""What changed in a folder."""

import os
from pathlib import Path

import pytest

from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.board.care.tree_changes import Changes, Tree, changes, look_at
from tests.refused import refused


@pytest.fixture
def root(tmp_path) -> Path:
    for name in ("a", "b/c", "b/d/e"):
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(name)
    return tmp_path / "root"


def after(root: Path, before: Tree) -> Changes:
    return changes(before, look_at(root, PathPatterns(exclude=("*.tmp",))))


def test_an_unchanged_tree_has_no_changes(root):
    before = look_at(root, PathPatterns())
    assert sorted(before) == ["/", "/a", "/b", "/b/c", "/b/d", "/b/d/e"]
    assert after(root, before) == Changes((), ())


def test_new_paths_are_added_with_parents_first(root):
    before = look_at(root, PathPatterns())
    (root / "new" / "deep").mkdir(parents=True)
    (root / "new" / "deep" / "file").touch()
    (root / "link").symlink_to("a")
    assert after(root, before) == Changes(("/link", "/new", "/new/deep", "/new/deep/file"), ())


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("longer than before"),
        lambda file: file.chmod(0o600),
        lambda file: os.utime(file, ns=(0, 1)),
    ],
    ids=["size", "mode", "mtime"],
)
def test_a_changed_file_is_added_alone(root, change):
    before = look_at(root, PathPatterns())
    change(root / "b" / "c")
    assert after(root, before) == Changes(("/b/c",), ())


def test_only_its_mode_counts_as_a_change_of_a_folder(root):
    before = look_at(root, PathPatterns())
    os.utime(root / "b", ns=(0, 1))
    assert after(root, before) == Changes((), ())
    (root / "b").chmod(0o700)
    assert after(root, before) == Changes(("/b",), ())


def test_a_removed_tree_is_one_deletion(root):
    before = look_at(root, PathPatterns())
    for path in (root / "b" / "d" / "e", root / "b" / "c"):
        path.unlink()
    for path in (root / "b" / "d", root / "b"):
        path.rmdir()
    assert after(root, before) == Changes((), ("/b",))


def test_a_folder_replaced_by_a_file_is_added_and_its_content_deleted(root):
    before = look_at(root, PathPatterns())
    (root / "b" / "d" / "e").unlink()
    (root / "b" / "d").rmdir()
    (root / "b" / "d").touch()
    assert after(root, before) == Changes(("/b/d",), ("/b/d/e",))


def test_excluded_names_and_files_of_the_repository_are_ignored(root):
    before = look_at(root, PathPatterns())
    (root / "x.tmp").touch()
    (root / ".callboard").mkdir()
    assert after(root, before) == Changes((), ())


def test_a_root_that_is_missing_or_not_a_folder_is_refused(tmp_path):
    with refused("inaccessible"):
        look_at(tmp_path / "missing", PathPatterns())
    (tmp_path / "file").touch()
    with refused("not_found"):
        look_at(tmp_path / "file", PathPatterns())


def test_only_included_paths_are_watched(root):
    patterns = PathPatterns(("/b/d/**",))
    assert sorted(look_at(root, patterns)) == ["/", "/b/d", "/b/d/e"]
