"""Records with hostile paths: none leads out of the root, and none takes unbounded memory."""

import itertools
import tracemalloc

import pytest

from callboard.actors.subscriber.quarantine import quarantine
from callboard.backends.repositories.paths import PATH_BYTES_MAX, Trees, with_parents
from callboard.errors import Undecodable
from callboard.messages import codec
from callboard.messages.distribution.ledger import HeldPackage
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord

MEMORY_MAX = 20 << 20
"""Ten records, and a small part of the folders that lead to the paths of one."""

NO_PATHS = {
    "empty": "", "relative": "a/b", "leading out": "../up", "a long name": "x" * 70_000, "slashes": "/" * 70_000,
    "too long": "/" + "x" * 70_000,
}  # fmt: skip


def package(*paths: str) -> PackageMessage:
    return PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.DELETE, paths=paths)


@pytest.mark.parametrize("path", NO_PATHS.values(), ids=NO_PATHS)
@pytest.mark.parametrize("deep", [False, True])
def test_a_package_with_an_invalid_path_cannot_be_decoded(path: str, deep: bool) -> None:
    message = PackageMessage(
        publisher_instance="i", package_id="p", kind=Kind.ADD, paths=("/a",) if deep else (path,),
        deep_paths=(path,) if deep else (),
    )  # fmt: skip
    record = NewRecord(payload=codec.encode(message), headers=(("type", "PackageMessage"), ("version", "1.0")))

    with pytest.raises(Undecodable, match="is not a path"):
        open_record(record.at(7, 0), PackageMessage)


def test_comparing_deep_paths_with_the_quarantine_takes_bounded_memory() -> None:
    deep = tuple(f"/{number}" + "/a" * (PATH_BYTES_MAX // 2 - 10) for number in range(600))
    held = tuple(
        HeldPackage(offset=number, publisher="site", package_id="p", kind=Kind.ADD, paths=deep[number * 20 :][:20])
        for number in range(4)
    )
    tracemalloc.start()
    try:
        assert quarantine.HeldPaths(held).touched_by(package(*deep[300:])) == ()
        assert quarantine.HeldPaths(held).touched_by(package(deep[3], deep[300])) == held[:1]
        assert quarantine.touch(deep[:300], deep[299:])
        assert tracemalloc.get_traced_memory()[1] < MEMORY_MAX
    finally:
        tracemalloc.stop()


def test_trees_are_touched_only_at_above_and_below_their_paths() -> None:
    names = ("a", "a-", "a0", "b")
    paths = ["/", *(f"/{'/'.join(its)}" for length in (1, 2, 3) for its in itertools.product(names, repeat=length))]
    for one in itertools.chain(itertools.combinations(paths, 1), itertools.combinations(paths[:25], 2)):
        trees, above = Trees(one), with_parents(one)
        for other in paths:
            assert trees.touch([other]) is (other in above or not with_parents([other]).isdisjoint(one)), (one, other)
