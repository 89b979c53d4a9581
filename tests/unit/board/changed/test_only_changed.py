"""A tree that is published again sends what differs from the log, and nothing if nothing does."""

import asyncio
import os
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, Publishing, RequestRefused
from callboard.backends.log import Retention
from callboard.board.changed import changed, folder_scan, tree_cache
from callboard.board.read.log.log_records import record_data
from callboard.board.views import Package
from callboard.errors import RootFilled
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    PackageMessage,
    State,
    SubscriberConfiguration,
)
from callboard.messages.headers import new_record, open_record
from callboard.testing.boards.memory_board import MemoryBoard

OLD_S = 3600


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write(tmp_path / "site", {"a.txt": "one", "blog/b.txt": "two", "blog/old/c.txt": "three"})
    return tmp_path / "site"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read to be compared."""
    found: list[str] = []
    digest = folder_scan._Scan._digest

    def noted(scan: Any, path: str) -> str:
        found.append(path)
        return digest(scan, path)

    monkeypatch.setattr(folder_scan._Scan, "_digest", noted)
    return found


def write(folder: Path, files: dict[str, str], age_s: float = OLD_S) -> None:
    """Files that were not changed for a while, as those of most trees."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age_s,) * 2)


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all changes were made long ago: nothing sets a file's ctime back."""
    monkeypatch.setattr(folder_scan, "RACY_NS", -(10**13))


def publish(tmp_path: Path, *calls: dict[str, Any], **board_options: Any) -> list[Package]:
    """Publish ``site`` with these arguments, each in a board of its own, as commands do."""

    async def one(call: dict[str, Any]) -> Package:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path, **board_options) as board:
            return await board.publisher(call.pop("by", "site")).publish("./site", **call)

    return [asyncio.run(one(dict(call))) for call in calls or ({},)]


def entries(tmp_path: Path, offset: int) -> list[tuple[str, str]]:
    async def work() -> list[tuple[str, str]]:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            data = await record_data(board.log, board.blobs, board.settings.topics.package, offset)
            return [(each["form"], each["path"]) for each in data["entries"]]

    return asyncio.run(work())


@pytest.mark.proves("P1")
def test_what_changed_is_sent_as_one_package_of_puts_and_removals(tmp_path: Path, site: Path) -> None:
    (first,) = publish(tmp_path)
    write(site, {"blog/b.txt": "new", "blog/d.txt": "four"})
    shutil.rmtree(site / "blog" / "old")
    (second,) = publish(tmp_path)
    assert (first.state, first.unchanged_files, first.whole) == ("accepted", 0, "")
    assert (second.offset, second.unchanged_files, second.unchanged_bytes, second.whole) == (2, 1, 3, "")
    assert (first.removed, second.removed) == (0, 1)
    sent = [("KEEP", "/blog"), ("FILE", "/blog/b.txt"), ("FILE", "/blog/d.txt"), ("GONE", "/blog/old")]
    assert entries(tmp_path, 2) == sent


@pytest.mark.proves("P1")
def test_nothing_is_appended_if_nothing_differs(tmp_path: Path, site: Path) -> None:
    _, same, part = publish(tmp_path, {}, {}, {"paths": ["/blog/b.txt", "/blog"]})
    assert (same.state, same.offset, same.id, same.unchanged_files, same.unchanged_bytes) == ("unchanged", 1, "", 3, 11)
    assert (part.state, part.unchanged_files) == ("unchanged", 2)
    (site / "a.txt").chmod(0o600)
    assert publish(tmp_path)[0].offset == 2


@pytest.mark.parametrize("at", ["/", "/there"])
def test_files_that_are_named_are_sent_without_a_comparison(tmp_path: Path, site: Path, at: str) -> None:
    _, again = publish(tmp_path, {"at": at}, {"at": at, "paths": ["/a.txt", "/blog/b.txt"]})
    assert (again.state, again.offset, again.whole, again.unchanged_files) == ("accepted", 2, "", 0)
    files = [path for form, path in entries(tmp_path, 2) if form == "FILE"]
    assert [path.removeprefix("/there") for path in files] == ["/a.txt", "/blog/b.txt"]


def test_a_folder_that_has_nothing_to_ship_any_more_is_removed(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own entry in the folder above is as before."""
    settle(monkeypatch)
    write(site, {"deep/er/x.html": "x", "deep/er/note.txt": "not shipped", "y.html": "y"})
    publish(tmp_path, {}, {}, include=("*.html",))
    (site / "deep/er/x.html").unlink()
    gone, same = publish(tmp_path, {}, {}, include=("*.html",))
    assert (gone.state, gone.removed, same.state) == ("accepted", 1, "unchanged")
    assert ("GONE", "/deep") in entries(tmp_path, gone.offset)


def test_all_is_sent_on_request_for_named_recipients_and_for_single_entries(tmp_path: Path, site: Path) -> None:
    calls: list[dict[str, Any]] = [
        {}, {"full": True}, {"recipients": ["edge-1"], "expect": True}, {"deep": False, "paths": ["/a.txt"]},
    ]  # fmt: skip
    assert [each.offset for each in publish(tmp_path, *calls)] == [1, 2, 3, 4]


@pytest.mark.proves("P2")
def test_all_is_sent_if_the_log_is_not_certain_and_the_answer_says_why(tmp_path: Path, site: Path) -> None:
    publish(tmp_path, {}, {"recipients": ["edge-1"], "expect": True})
    doubtful, certain = publish(tmp_path, {}, {})
    assert (doubtful.offset, doubtful.whole) == (3, "offset 2 is for edge-1 alone")
    assert certain.state == "unchanged"
    (other,) = publish(tmp_path, {"by": "other", "paths": ["/blog"]})
    assert other.whole == "offset 3 is by publisher 'site', which wrote to the same paths"
    with pytest.raises(RootFilled):
        publish(tmp_path)
    assert "is by publisher 'other'" in publish(tmp_path, {"replace_root": True})[0].whole


@pytest.mark.proves("P2")
def test_all_is_sent_once_the_package_with_all_is_trimmed(tmp_path: Path, site: Path) -> None:
    async def trim() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            topic = board.settings.topics.package
            await board.log.trim(topic, Retention(below_offset=2))

    publish(tmp_path)
    write(site, {"d.txt": "four"})
    publish(tmp_path)
    asyncio.run(trim())
    (again,) = publish(tmp_path)
    assert (again.offset, again.entries) == (3, 7)
    assert again.whole == "no package on the log has all of /"


def test_an_empty_folder_is_not_taken_for_the_wish_to_remove_everything(tmp_path: Path, site: Path) -> None:
    publish(tmp_path)
    shutil.rmtree(site)
    site.mkdir()
    assert publish(tmp_path)[0].state == "dropped"
    shutil.rmtree(site)
    with pytest.raises(RequestRefused, match="site does not exist"):
        publish(tmp_path)


def test_a_request_repeated_under_its_id_is_answered_with_its_package(tmp_path: Path, site: Path) -> None:
    publish(tmp_path)
    write(site, {"a.txt": "new"})
    first, again = publish(tmp_path, *[{"request_id": "r1"}] * 2)
    write(site, {"a.txt": "newer"})
    (later,) = publish(tmp_path, {"request_id": "r1"})
    assert (again, later) == (replace(first, unchanged_files=0, unchanged_bytes=0),) * 2
    with pytest.raises(RequestRefused, match="'r1' was used before, for a different request"):
        publish(tmp_path, {"request_id": "r1", "paths": ["/blog"]})
    assert publish(tmp_path)[0].offset == 3


@pytest.mark.proves("P4")
def test_a_subscriber_of_an_older_version_gets_packages_that_it_can_read(tmp_path: Path, site: Path) -> None:
    async def announce(version: int) -> None:
        said = DiscoveryMessage(
            subscriber_instance="s", subscriber="old", state=State.STOPPED, offset=-1,
            package_version=version, configuration=SubscriberConfiguration(editable=True, max_retries=-1),
        )  # fmt: skip
        record = new_record(said, record_id=str(version), time_ns=time.time_ns(), producer="test")
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            await board.log.append(board.settings.topics.discovery, [record])

    async def versions() -> list[int]:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            _, end = await board.log.bounds(board.settings.topics.package)
            records = await board.log.read(board.settings.topics.package, 1, end)
            return [open_record(each, PackageMessage).content[5] for each in records]

    write(site, {"long.txt": "much the same " * 1000})
    asyncio.run(announce(1))
    publish(tmp_path)
    (site / "a.txt").unlink()
    (whole,) = publish(tmp_path)
    assert whole.whole.startswith("subscriber 'old' does not know packages that put and remove; upgrade it")
    asyncio.run(announce(2))
    (site / "blog" / "b.txt").unlink()
    publish(tmp_path, {}, {"full": True})
    publish(tmp_path, {"full": True}, publishing=Publishing(compress=False))
    assert asyncio.run(versions()) == [1, 1, 2, 2, 1]


@pytest.mark.proves("P2")
def test_a_package_that_comes_between_is_followed_by_all(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(site, {"a.txt": "new"})

    async def work() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            of = board.publisher("site")
            await of.publish("./site")
            write(site, {"a.txt": "newest"})
            scan = folder_scan.compare

            def slow(*arguments: Any) -> Any:
                found = scan(*arguments)
                asyncio.run_coroutine_threadsafe(of.delete(["/blog"]), loop).result(30)
                monkeypatch.setattr(changed, "compare", scan)
                return found

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(changed, "compare", slow)
            package = await of.publish("./site")
            assert (package.offset, package.entries) == (4, 6)
            assert "came in between" in package.whole
            assert (await of.publish("./site")).state == "unchanged"

    asyncio.run(work())


@pytest.mark.proves("P3")
def test_a_file_is_read_again_only_if_it_may_have_changed(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    publish(tmp_path, {}, {}, {})
    assert sorted(read) == sorted(2 * ["/a.txt", "/blog/b.txt", "/blog/old/c.txt"]), "they have just been written"
    settle(monkeypatch)
    publish(tmp_path, {})
    read.clear()
    publish(tmp_path, {})
    assert read == []
    stat = (site / "a.txt").stat()
    (site / "a.txt").write_text("two")  # of the same size, and the time is set back
    os.utime(site / "a.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (package,) = publish(tmp_path)
    assert (read, package.offset) == (["/a.txt"], 2)


@pytest.mark.parametrize("how", ["resent", "deleted"])
def test_a_folder_that_did_not_change_is_sent_if_the_log_did(
    how: str, tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def alter() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            if how == "resent":
                await board.resend(2, force=True)
            else:
                await board.publisher("site").delete(["/a.txt"])

    settle(monkeypatch)
    publish(tmp_path)
    for text in ("new", "newer"):
        write(site, {"a.txt": text})
        publish(tmp_path, {}, {})
    asyncio.run(alter())
    assert [(each.offset, each.entries, each.state) for each in publish(tmp_path, {}, {})] == [
        (5, 1, "accepted"), (5, 0, "unchanged"),
    ]  # fmt: skip


@pytest.mark.parametrize("harm", ["another log", "cut", "altered", "not a file", "another version", "another folder"])
@pytest.mark.proves("P3")
def test_a_cache_that_may_be_wrong_counts_for_nothing(
    harm: str, tmp_path: Path, site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    settle(monkeypatch)
    publish(tmp_path, {}, {}, {})
    [file] = (cache / "callboard" / "trees").iterdir()
    read.clear()
    match harm:
        case "another log":
            shutil.rmtree(tmp_path / "board.db")
            assert publish(tmp_path)[0].offset == 1
        case "cut":
            os.truncate(file, file.stat().st_size - 100)
        case "altered":
            file.write_bytes(file.read_bytes().replace(b"a.txt", b"x.txt"))
        case "not a file":
            file.unlink()
            file.mkdir()
        case "another version":
            monkeypatch.setattr(tree_cache, "__version__", "0")
        case "another folder":
            shutil.copytree(site, tmp_path / "copy", copy_function=shutil.copy2)
            site.rename(tmp_path / "former")
            (tmp_path / "copy").rename(site)
    (package,) = publish(tmp_path)
    assert package.state == "unchanged"
    assert len(read) == 3
    write(site, {"a.txt": "new"})
    assert publish(tmp_path)[0].entries == 1


@pytest.mark.parametrize("harm", ["a link", "a pipe", "another user's"])
def test_a_cache_that_others_may_have_written_counts_for_nothing(
    harm: str, tmp_path: Path, site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    settle(monkeypatch)
    publish(tmp_path, {}, {}, {})
    [file] = (cache / "callboard" / "trees").iterdir()
    read.clear()
    match harm:
        case "a link":
            file.rename(tmp_path / "theirs")
            file.symlink_to(tmp_path / "theirs")
        case "a pipe":
            file.unlink()
            os.mkfifo(file)
        case "another user's":
            monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert publish(tmp_path)[0].state == "unchanged"
    assert len(read) == 3


def test_a_log_that_was_set_back_and_has_grown_since_is_read_again(tmp_path: Path, site: Path) -> None:
    publish(tmp_path)
    shutil.copytree(tmp_path / "board.db", tmp_path / "older.db")
    write(site, {"a.txt": "new"})
    publish(tmp_path, {}, {})
    shutil.rmtree(tmp_path / "board.db")
    (tmp_path / "older.db").rename(tmp_path / "board.db")
    asyncio.run(another_package(tmp_path))
    (package,) = publish(tmp_path)
    assert (package.state, package.paths) == ("accepted", ("/a.txt",))


async def another_package(tmp_path: Path) -> None:
    async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
        await board.publisher("other").invalidate(["/elsewhere"])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.proves("P1")
def test_a_subscriber_has_the_folder_after_any_edits(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(changed, "PATHS_MAX", rng.choice([3, 1000]))
    at = rng.choice(["/", "/in/here"])
    site = tmp_path / "site"
    write(site, {"stays.txt": "stays", "x/y/z.txt": "deep"})

    async def work() -> None:
        async with MemoryBoard(tmp_path) as test:
            fleet = await test.fleet(1)
            for round_ in range(12):
                await test.board.publisher("site").publish("./site", at=at)
                await fleet.deliver_all()
                [into] = (tmp_path / "fleet").iterdir()
                into /= at.lstrip("/")
                assert shape(into) == shape(site), f"seed {seed}, round {round_}"
                edit(site, rng)

    asyncio.run(work())


def edit(site: Path, rng: random.Random) -> None:
    for _ in range(rng.randrange(6)):
        path = site.joinpath(*(rng.choice("xyz") for _ in range(rng.randint(1, 3))))
        if any(each.is_file() or each.is_symlink() for each in path.parents if site in each.parents):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        match rng.randrange(4):
            case 0:
                write(site, {str(path.relative_to(site)): rng.choice(["one", "two", "t" * 5000])})
            case 1:
                path.mkdir(parents=True, mode=rng.choice([0o700, 0o755]))
            case 2:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to("somewhere")


def shape(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): (
            path.readlink() if path.is_symlink() else (path.stat().st_mode, path.is_file() and path.read_text())
        )
        for path in folder.rglob("*")
        if ".callboard" not in path.relative_to(folder).parts
    }
