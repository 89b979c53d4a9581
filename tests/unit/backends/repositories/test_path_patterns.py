"""Patterns of names and paths."""

import pytest

from callboard.backends.repositories.path_patterns import PathPatterns


@pytest.mark.parametrize(
    ("pattern", "admitted", "left_out"),
    [
        ("*.html", "/a.html /b/c.html /x.html/y", "/a.htm /b /html"),
        ("/blog", "/blog /blog/a /blog/a/b", "/blogs /a/blog /"),
        ("/blog/*.html", "/blog/a.html", "/blog/a/b.html /blog /a.html"),
        ("/blog/**", "/blog /blog/a /blog/a/b", "/a /a/blog/b"),
        ("/blog/**/*.html", "/blog/a.html /blog/a/b/c.html", "/blog/a /a.html"),
        ("**/drafts/*", "/drafts/a /x/y/drafts/a", "/drafts /x/drafts"),
        ("blog/a", "/blog/a /blog/a/b", "/x/blog/a"),
        ("/[ab]?", "/a1 /b2/c", "/c1 /a"),
    ],
)
def test_a_pattern_admits_what_matches_it_and_everything_below(pattern, admitted, left_out):
    only, but = PathPatterns(include=(pattern,)), PathPatterns(exclude=(pattern,))
    for path in admitted.split():
        assert only.admits(path)
        assert not but.admits(path)
        assert not but.leads(path)
    for path in left_out.split():
        assert only.admits(path) == (path == "/")
        assert but.admits(path)


def test_an_excluded_path_stays_excluded_under_any_include():
    both = PathPatterns(("/blog", "*.html"), ("/blog/drafts", "*.mp4"))
    assert both.admits("/blog/a")
    assert both.admits("/x/a.html")
    for path in ("/blog/drafts/a.html", "/blog/a.mp4", "/x", "/blog/drafts"):
        assert not both.admits(path)


def test_a_folder_is_entered_if_something_below_it_may_be_admitted():
    only = PathPatterns(("/a/b/*.html", "/c/**/d"))
    for folder in ("/", "/a", "/a/b", "/c", "/c/x/y"):
        assert only.leads(folder)
    for folder in ("/b", "/a/c", "/a/b/c/d"):
        assert not only.leads(folder)
    assert PathPatterns(("*.html",), ("/secret",)).leads("/anything")
    assert not PathPatterns(("*.html",), ("/secret",)).leads("/secret/x")


def test_a_tree_is_complete_if_nothing_in_it_can_be_excluded():
    assert PathPatterns().whole("/")
    assert PathPatterns(("/a",)).whole("/a/b")
    assert not PathPatterns(("/a",)).whole("/")
    assert not PathPatterns(exclude=("*.mp4",)).whole("/a")
