"""What a publisher's tree is by the log, and when the log does not say it."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from callboard.board.changed.published_tree import KnownFolder, PublishedTree
from callboard.board.read.expected_tree import ExpectedTree
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

NAMES = ("a", "b")
PATHS = [f"/{one}" for one in NAMES] + [f"/{one}/{two}" for one in NAMES for two in NAMES] + ["/a/a/a", "/a/a/b"]


def package(kind: Kind, *paths: str, deep: tuple[str, ...] = (), **said: Any) -> PackageMessage:
    fields: dict[str, Any] = {"publisher": "site", "source": "here", "request_id": ""} | said
    return PackageMessage(publisher_instance="i", package_id="p", kind=kind, paths=paths, deep_paths=deep, **fields)


def file(path: str, content: str = "a") -> ManifestEntry:
    return ManifestEntry(Form.FILE, path, 0o644, 1, content * 64)


def folder(path: str, form: Form = Form.FOLDER) -> ManifestEntry:
    return ManifestEntry(form, path, 0o755)


WHOLE = (package(Kind.ADD, "/", deep=("/",)), [folder("/"), folder("/a"), file("/a/a"), file("/b")])


def tree(*steps: tuple[PackageMessage, list[ManifestEntry] | None], root: str = "/") -> PublishedTree:
    it = PublishedTree(root, "site", "here")
    for offset, step in enumerate(steps, start=1):
        it.add(*step, offset)
    return it


def rows(it: PublishedTree) -> dict[str, tuple[int, str]]:
    return {
        f"{path.rstrip('/')}/{name}": (row.form, row.content)
        for path, each in it.folders.items()
        for name, row in each.rows.items()
    }


def anything(seed: int) -> Iterator[tuple[PackageMessage, list[ManifestEntry] | None]]:
    """Packages of every shape, whose entries come parents first."""
    rng = random.Random(seed)
    yield WHOLE
    for _ in range(12):
        path = rng.choice(PATHS)
        above = [folder(path[:end], Form.KEEP) for end in range(2, len(path), 2)]
        match rng.randrange(5):
            case 0:
                yield package(Kind.DELETE, path), None
            case 1:
                yield package(Kind.ADD, path), [*above, rng.choice([file(path, rng.choice("cd")), folder(path)])]
            case 2:
                yield package(Kind.ADD, path, deep=(path,)), [*above, ManifestEntry(Form.GONE, path, 0)]
            case 3:
                yield package(Kind.ADD, path, deep=(path,)), [*above, folder(path), file(f"{path}/z", rng.choice("cd"))]
            case _:
                yield package(Kind.INVALIDATE, path), None


@pytest.mark.parametrize("seed", range(40))
def test_the_tree_is_the_one_that_verify_expects(seed: int) -> None:
    ours, theirs = PublishedTree("/", "site", "here"), ExpectedTree()
    for offset, (message, entries) in enumerate(anything(seed), start=1):
        ours.add(message, entries, offset)
        theirs.add(message, entries, offset)
        for path, each in list(ours.folders.items()):
            ours.folders[path] = KnownFolder.decode(each.encode(path))[1]  # as if kept in between
        expected = {path: (entry.form, entry.digest) for path, (entry, _) in theirs.entries.items()}
        assert rows(ours) == expected, f"seed {seed}, offset {offset}"
        assert not ours.problem(["/"], 1)


def test_only_what_lies_below_the_root_is_kept() -> None:
    elsewhere = package(Kind.ADD, "/other", deep=("/other",)), [folder("/other")]
    here = package(Kind.ADD, "/site", deep=("/site",)), [folder("/site"), file("/site/x")]
    it = tree(here, elsewhere, root="/site")
    assert set(rows(it)) == {"/site", "/site/x"}
    assert it.offset == 1


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (package(Kind.ADD, "/a/a", publisher="other"), "offset 2 is by publisher 'other'"),
        (package(Kind.DELETE, "/a", publisher="other"), "offset 2 is by publisher 'other'"),
        (package(Kind.ADD, "/a/a", source="there"), "offset 2 is from another source, 'there'"),
        (package(Kind.ADD, "/a/a", recipients=("edge-1",)), "offset 2 is for edge-1 alone"),
        (package(Kind.ADD, "/a/a"), "offset 2 cannot be read"),
    ],
)
@pytest.mark.proves("P2")
def test_a_package_of_which_not_all_have_the_same_content_casts_doubt_on_its_paths(
    later: PackageMessage, why: str
) -> None:
    it = tree(WHOLE, (later, None))
    assert it.problem(["/"], 1).startswith(why)
    assert it.problem(["/a/a/below"], 1).startswith(why)
    assert not it.problem(["/b"], 1)
    it.add(*WHOLE, 3)
    assert not it.problem(["/"], 1)


def test_a_record_that_cannot_be_decoded_casts_doubt_on_everything_until_all_is_sent_again() -> None:
    it = tree(WHOLE)
    it.unreadable("offset 2 cannot be decoded")
    assert it.problem(["/b"], 1) == "offset 2 cannot be decoded"
    it.add(*WHOLE, 3)
    assert not it.problem(["/b"], 1)


def test_without_a_package_of_the_whole_tree_on_the_log_nothing_is_certain() -> None:
    assert tree().problem(["/"], 1) == "no package on the log has all of /"
    assert tree((package(Kind.ADD, "/b"), [file("/b")])).problem(["/"], 1)
    assert "the log is trimmed, and with it offset 1" in tree(WHOLE).problem(["/a"], 2)
    assert not tree(WHOLE, (package(Kind.ADD, "/a", deep=("/a",)), [folder("/a")])).problem(["/a"], 2)


def test_a_package_of_this_publisher_is_found_by_its_request_id() -> None:
    it = tree((package(Kind.ADD, "/b", request_id="r1"), []), (package(Kind.TEST, request_id="r2"), None))
    it.add(package(Kind.ADD, "/b", request_id="r3", publisher="other"), [], 3)
    assert it.requests == {"r1": 1, "r2": 2}


def test_a_line_keeps_any_name() -> None:
    it = KnownFolder("ab", 1, 2)
    it.hashed["a\t\n\udcff"] = [1, 2, 3, 4, "d"]
    line = it.encode("/\u20ac\t\n")
    assert b"\n" not in line
    path, back = KnownFolder.decode(line)
    assert (path, back.stamp, back.files, back.size, back.hashed) == ("/\u20ac\t\n", "ab", 1, 2, it.hashed)
    assert json.loads(line.split(b"\t")[0]) == path
