"""Which paths and links content may have."""

import pytest

from callboard.backends.repositories.paths import check_path, child_of, link_leaves_root, parent_of
from callboard.errors import RequestRefused


@pytest.mark.parametrize("path", ["/", "/a", "/a/b.html", "/ü/日本", "/a b/..c", "/x/.callboard", "/" + "n" * 255])
def test_an_ordinary_path_is_returned_as_it_is(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "not absolute"),
        ("a/b", "not absolute"),
        ("/a/../b", "not normalised"),
        ("/..", "not normalised"),
        ("/a/./b", "not normalised"),
        ("/a//b", "not normalised"),
        ("//", "not normalised"),
        ("/a/", "not normalised"),
        ("/a\0b", "NUL"),
        ("/\udcff", "not valid UTF-8"),
        ("/.callboard", "reserved"),
        ("/.callboard/ledger", "reserved"),
        ("/" + "n" * 256, "too long"),
        ("/" + "ü" * 128, "too long"),
        ("/n" * 2000, "too long"),
    ],
)
def test_a_path_that_cannot_name_content_is_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(RequestRefused, match=why):
        check_path(path)


@pytest.mark.parametrize(
    ("path", "target"),
    [("/l", "a"), ("/l", "."), ("/l", "a/b"), ("/a/l", ".."), ("/a/b/l", "../../c"), ("/l", "..x")],
)
def test_a_link_inside_the_root_stays(path: str, target: str) -> None:
    assert not link_leaves_root(path, target)


@pytest.mark.parametrize(
    ("path", "target"),
    [("/l", "/etc"), ("/l", ".."), ("/l", "../x"), ("/a/l", "../../x"), ("/a/l", "./.././..")],
)
def test_a_link_that_climbs_above_the_root_leaves_it(path: str, target: str) -> None:
    assert link_leaves_root(path, target)


def test_a_link_that_climbs_through_a_name_is_not_trusted() -> None:
    # With /deep/up -> .., the harmless looking deep/up/.. is the folder above the root.
    assert not link_leaves_root("/deep/up", "..")
    assert link_leaves_root("/x", "deep/up/..")


def test_parent_and_child_undo_each_other() -> None:
    assert [parent_of(p) for p in ("/", "/a", "/a/b")] == ["/", "/", "/a"]
    assert [child_of("/", "a"), child_of("/a", "b")] == ["/a", "/a/b"]
