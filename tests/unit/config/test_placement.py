"""The roots of sources are written to callboard.toml, and nothing else there changes."""

from pathlib import Path

import pytest

from callboard.config import load
from callboard.config.placement import placement, remember
from callboard.errors import ConfigError

START = '# mine\nlog = "memory:"  # a comment\n\n[publisher]\nname = "main"\n'


def said(folder: Path, text: str = START) -> Path:
    (folder / "callboard.toml").write_text(text)
    return folder / "callboard.toml"


def loaded(folder: Path):
    return load(None, {}, cwd=folder)


def test_a_remembered_root_is_found_again_and_the_rest_of_the_file_stays(tmp_path):
    file = said(tmp_path)
    file.chmod(0o640)
    for publisher, source, at in (("main", "a", "/a"), ("x", "a", "/xa"), ("main", "b c", "/b"), ("main", "a", "/new")):
        assert remember(loaded(tmp_path), publisher, tmp_path / source, at) == "callboard.toml"
        assert remember(loaded(tmp_path), publisher, tmp_path / source, at) == ""
        assert placement(loaded(tmp_path), publisher, tmp_path / source) == (at, f"./{source}")
    assert file.read_text().startswith(START)
    assert placement(loaded(tmp_path), "main", tmp_path / "b c") == ("/b", "./b c")
    assert placement(loaded(tmp_path), "x", tmp_path / "b c") == ("/", None)
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["callboard.toml"]
    assert {value.origin for value in loaded(tmp_path).origins() if value.key[0] == "publishers"} > {"callboard.toml:8"}


@pytest.mark.parametrize("name", ['a "quoted" one', "dotted.name", "[bracket]", "naïve", "tab\\"])
def test_any_name_can_be_written(tmp_path, name):
    said(tmp_path)
    remember(loaded(tmp_path), name, tmp_path / name, f"/{name}")
    assert placement(loaded(tmp_path), name, tmp_path / name) == (f"/{name}", f"./{name}")


@pytest.mark.parametrize(
    "text",
    [
        'publishers = {main = {sources = {"./a" = "/a"}}}\n',
        '[publishers.main]\nsources = {"./a" = "/a"}\n',
        '[publishers]\nmain.sources = {"./a" = "/a"}\n',
    ],
)
def test_a_file_in_another_style_is_left_alone_and_the_line_to_add_is_shown(tmp_path, text):
    file = said(tmp_path, text)
    with pytest.raises(ConfigError, match=r'add to it yourself: \[publishers.main.sources\] "./b" = "/b"'):
        remember(loaded(tmp_path), "main", tmp_path / "b", "/b")
    assert file.read_text() == text
    assert placement(loaded(tmp_path), "main", tmp_path / "a") == ("/a", "./a")


def test_a_configuration_behind_a_link_is_written_to_its_target(tmp_path):
    (tmp_path / "real").mkdir()
    said(tmp_path / "real")
    (tmp_path / "callboard.toml").symlink_to("real/callboard.toml")
    remember(loaded(tmp_path), "main", tmp_path / "a", "/a")
    assert (tmp_path / "callboard.toml").is_symlink()
    assert '"./a" = "/a"' in (tmp_path / "real" / "callboard.toml").read_text()


def test_without_a_file_nothing_is_remembered(tmp_path):
    with pytest.raises(ConfigError, match="use --at each time"):
        remember(loaded(tmp_path), "main", tmp_path / "a", "/a")
    assert placement(loaded(tmp_path), "main", tmp_path / "a", "/a") == ("/a", None)


def test_a_source_in_the_file_is_identified_by_its_path_relative_to_the_file(tmp_path):
    said(tmp_path, '[publisher]\nsource = "./site"\n')
    assert placement(loaded(tmp_path), "main", tmp_path / "site") == ("/", "./site")
    (tmp_path / "link").symlink_to("site")
    assert placement(loaded(tmp_path), "main", tmp_path / "link") == ("/", "./site")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[publishers.main.sources]\n"./a" = "a"\n', "callboard.toml:2: publishers.main.sources../a is"),
        ("[publishers.main]\nsuorces = {}\n", "did you mean sources"),
        ('[publishers.main]\nsources = "x"\n', "should be"),
        ('publishers = "x"\n', "should be a section"),
    ],
)
def test_errors_in_the_roots_of_sources_are_reported(tmp_path, text, message):
    said(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path)
    assert message in str(error.value)
