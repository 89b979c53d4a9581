"""What a folder on disk refuses to export, and what it leaves out."""

import os
import socket
from pathlib import Path

import pytest

from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.errors import RequestRefused
from tests.refused import refused


def exported(root: Path, path: str = "/", exclude: tuple[str, ...] = ()) -> dict[str, bytes]:
    source = FolderSource(root, PathPatterns((), exclude))
    return {entry.path: b"".join(entry.open()) for entry in source.entries(path, deep=True)}


def test_a_repository_does_not_export_its_own_state(tmp_path: Path) -> None:
    (tmp_path / ".callboard").mkdir()
    (tmp_path / "sub/.callboard").mkdir(parents=True)
    assert list(exported(tmp_path)) == ["/", "/sub", "/sub/.callboard"]


def test_excluded_names_are_left_out_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "a/__pycache__").mkdir(parents=True)
    (tmp_path / "a/x.pyc").touch()
    (tmp_path / "a/x.py").touch()
    exclude = ("__pycache__", "*.pyc")
    assert list(exported(tmp_path, exclude=exclude)) == ["/", "/a", "/a/x.py"]
    with refused("excluded"):
        exported(tmp_path, "/a/__pycache__", exclude)


def test_an_excluded_name_is_never_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert list(exported(tmp_path, exclude=("pipe",))) == ["/"]


def test_a_pipe_or_a_socket_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestRefused, match="/pipe is neither file, folder nor link"):
        exported(tmp_path)
    (tmp_path / "pipe").unlink()
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("bell")
        with pytest.raises(RequestRefused, match="/bell is neither"):
            exported(tmp_path)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    with pytest.raises(RequestRefused, match=r"caf\\udce9.*not valid UTF-8"):
        exported(tmp_path)


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../outside", "sub/../../x"])
def test_a_link_that_leads_out_of_the_root_is_refused_with_its_target(target: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(RequestRefused, match=f"/link to {target} could lead out"):
        exported(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("x")
    (tmp_path / "alias").symlink_to("real")
    assert list(exported(tmp_path)) == ["/", "/alias", "/real", "/real/file"]
    with refused("not_found"):
        exported(tmp_path, "/alias/file")


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("x")
    (tmp_path / "root").symlink_to("real")
    assert exported(tmp_path / "root") == {"/": b"", "/file": b"x"}


def test_the_error_names_a_root_that_is_missing_or_not_a_folder(tmp_path: Path) -> None:
    with refused("not_found"):
        exported(tmp_path / "missing")
    (tmp_path / "file").touch()
    with refused("not_found"):
        exported(tmp_path / "file")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for before, after in (("longer", "short"), ("short", "longer"), ("", "x"), ("x", "")):
        file.write_text(before)
        (entry,) = FolderSource(tmp_path).entries("/file", deep=False)
        file.write_text(after)
        with refused("changed"):
            b"".join(entry.open())


def test_a_file_that_becomes_a_pipe_or_the_like_is_refused_and_does_not_block(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    (entry,) = FolderSource(tmp_path).entries("/file", deep=False)
    file.unlink()
    with refused("not_found"):
        b"".join(entry.open())
    os.mkfifo(file)
    with refused("changed"):
        b"".join(entry.open())
    file.unlink()
    file.symlink_to("elsewhere")
    with pytest.raises(RequestRefused, match="symbolic link"):
        b"".join(entry.open())


def test_a_file_that_disappears_during_a_deep_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    entries = FolderSource(tmp_path).entries("/", deep=True)
    assert next(entries).path == "/"
    assert next(entries).path == "/a"
    (tmp_path / "b").unlink()
    with refused("not_found"):
        next(entries)


def test_one_error_names_everything_that_cannot_be_shipped(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "good").write_text("x")
        (tmp_path / folder / "out").symlink_to("/etc")
        os.mkfifo(tmp_path / folder / "pipe")
        (tmp_path / folder / os.fsdecode(b"\xff")).touch()
    with pytest.raises(RequestRefused) as error:
        exported(tmp_path)
    told = str(error.value)
    assert told.startswith("6 entries cannot be shipped; correct them, or exclude them by name (exclude in")
    for each in ("link /a/out to /etc", "/a/pipe is neither", "link /b/out", "'/b/\\udcff' is not"):
        assert each in told
    assert list(exported(tmp_path, exclude=("out", "pipe", "\udcff"))) == ["/", "/a", "/a/good", "/b", "/b/good"]


def test_an_error_about_very_many_paths_counts_them(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"link{number:02}").symlink_to("/etc")
    with pytest.raises(RequestRefused, match=r"^100 entries .* link /link19 .*; and 80 more$"):
        exported(tmp_path)


def test_nothing_is_read_once_something_cannot_be_shipped(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/etc")
    (tmp_path / "b").touch()
    entries = FolderSource(tmp_path).entries("/", deep=True)
    assert next(entries).path == "/"
    with pytest.raises(RequestRefused, match="link /a"):
        next(entries)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named_before_anything_is_built(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).touch(mode=0o000)
    with pytest.raises(RequestRefused, match=r"^2 entries .*a cannot be read.*b cannot be read"):
        exported(tmp_path)


def test_a_source_lists_only_included_paths_and_their_parent_folders(tmp_path: Path) -> None:
    for path in ("blog/2026/a.html", "blog/2026/a.mp4", "blog/drafts/x.html", "index.html", "img/logo.png"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    os.mkfifo(tmp_path / "img" / "pipe")
    patterns = PathPatterns(("/blog/**/*.html", "/index.*"), ("/blog/drafts",))

    def found(path: str) -> list[str]:
        return [entry.path for entry in FolderSource(tmp_path, patterns).entries(path, deep=True)]

    assert found("/") == ["/", "/blog", "/blog/2026", "/blog/2026/a.html", "/index.html"]
    assert found("/blog/2026/a.html") == ["/blog/2026/a.html"]
    for path in ("/blog/2026/a.mp4", "/blog/drafts/x.html", "/img"):
        with refused("excluded"):
            found(path)
