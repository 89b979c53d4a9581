"""A tree is split into packages that rebuild it, each on the log once, even if processes die."""

import asyncio
import os
import stat
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import EntryKind
from callboard.errors import RequestRefused
from callboard.pipeline.export import folder, publisher
from callboard.pipeline.export.export import Exported, Exporting, export
from callboard.pipeline.export.folder import ExportFolder
from callboard.pipeline.export.parts import Part, cut
from callboard.pipeline.run import Run
from tests.refused import refused

MOST = 6
SEED = 3
DEATHS_MAX = 60


class Killed(BaseException):
    """Nothing may catch it, as nothing catches a kill."""


def plant(root: Path) -> None:
    """A folder that is too large, with large and small ones in it; modes, links, blobs, an empty folder."""
    dice = Random(SEED)
    for number in range(20):
        (root / "wide").mkdir(parents=True, exist_ok=True)
        (root / "wide" / f"{number}.txt").write_text(f"{number}")
    for number in range(6):
        (root / "many" / f"{number}" / "ä b").mkdir(parents=True)
        for each in range(dice.randrange(6)):
            (root / "many" / f"{number}" / "ä b" / f"{each}").write_bytes(dice.randbytes(10))
    (root / "many" / "empty").mkdir()
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "large.bin").write_bytes(dice.randbytes(100_000))
    (root / "link").symlink_to("wide/3.txt")
    (root / "wide").chmod(0o750)


def tree(root: Path) -> dict[str, tuple[int, str | bytes]]:
    found: dict[str, tuple[int, str | bytes]] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(".callboard"):
            content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            found[name] = (stat.S_IMODE(path.lstat().st_mode), content)
    return found


class Site:
    """A tree, a log to export it to, and a folder for the export."""

    def __init__(self, spark, log, folder: Path) -> None:
        self.spark, self.log, self.folder = spark, log, folder
        self.now_ns = 10**18
        self.source, self.out = folder / "site", folder / "export"
        (folder / "callboard.toml").write_text(f'log = "{log.url}"\n')
        log.append("package")

    def export(self, **wanted) -> Exported:
        run = Run("export", self.spark, {"board": str(self.folder / "callboard.toml")}, lambda: self.now_ns)
        options = {
            "source": str(self.source), "path": "/", "publisher": "site", "name": "job", "user": "ada", "most": MOST,
            "round_parcels": 4,
        }  # fmt: skip
        return export(run, self.out, Exporting(**(options | wanted)))

    def requests(self) -> list[str]:
        async def work() -> list[str]:
            log = SqliteLog(self.folder / "board.db")
            records = await log.read("callboard.package", 1)
            await log.close()
            return [record.header("cause") for record in records]

        return asyncio.run(work())

    def imported(self) -> dict[str, tuple[int, str | bytes]]:
        async def work() -> None:
            async with (
                Callboard(self.log.url) as board,
                board.subscriber("edge", self.folder / "edge") as edge,
            ):
                await edge.caught_up()

        asyncio.run(work())
        return tree(self.folder / "edge")


@pytest.fixture
def site(spark, sqlite_log, tmp_path) -> Site:
    return Site(spark, sqlite_log, tmp_path)


def dies_after(patch: pytest.MonkeyPatch, steps: int) -> None:
    """A step is an effect that outlives the process: a file or folder gets its name, records are appended."""
    left = iter(range(2 * steps))

    def live() -> None:
        if next(left, None) is None:
            raise Killed

    def mortal(call):
        def step(*args):
            live()
            done = call(*args)
            live()
            return done

        return step

    append = SqliteLog.append

    async def appending(self, *args):
        live()
        done = await append(self, *args)
        live()
        return done

    patch.setattr(SqliteLog, "append", appending)
    for name in ("rename", "write_document"):
        patch.setattr(folder, name, mortal(getattr(folder, name)))


@pytest.mark.timeout(900)
def test_an_export_killed_between_any_two_steps_ships_every_package_once_and_completes_the_tree(site, monkeypatch):
    plant(site.source)
    (site.folder / "other").mkdir()
    (site.folder / "other" / "not-in-the-tree").write_text("old")

    async def before() -> None:
        async with Callboard(site.log.url) as board:
            await board.publisher("site").publish(site.folder / "other", request_id="before")

    asyncio.run(before())
    monkeypatch.setattr(publisher, "BATCH_RECORDS", 2)
    deaths, dead = 0, True
    while dead:
        with pytest.MonkeyPatch.context() as patch:
            dies_after(patch, 1 + deaths % 2)
            try:
                done = site.export(replace=True)
                dead = False
            except Killed:
                deaths += 1
                assert deaths < DEATHS_MAX
    assert deaths > 8
    packages = done.packages
    assert packages > 7
    assert site.requests() == ["before", *(f"job/{sequence}" for sequence in range(packages))]
    assert site.imported() == tree(site.source)

    (site.source / "late").write_text("to be shipped by another export")
    again = site.export(replace=True)
    assert (again.packages, again.appended, again.end) == (packages, 0, packages + 2)
    with refused("mismatch"):
        site.export(replace=True, path="/many")
    with ExportFolder(site.out).locked(), refused("busy"):
        site.export(replace=True)


@pytest.mark.timeout(600)
def test_blobs_stored_long_before_their_package_are_renewed_or_reported_missing(site):
    site.source.mkdir()
    (site.source / "large.bin").write_bytes(b"x" * 100_000)
    with pytest.MonkeyPatch.context() as patch:
        dies_after(patch, 3)
        with pytest.raises(Killed):
            site.export()
    [blob] = (site.folder / "board.db" / "blobs").glob("??/*")
    site.now_ns += 3 * 3600 * 10**9
    blob.rename(site.folder / "collected")
    with pytest.raises(RequestRefused, match="is gone from the blob store"):
        site.export()
    assert site.requests() == []
    (site.folder / "collected").rename(blob)
    os.utime(blob, (0, 0))
    assert site.export().appended == 1
    assert blob.stat().st_mtime > 0


@pytest.mark.parametrize("most", [1, 2, 5, 30, 1000])
def test_parcels_contain_every_path_once_with_folders_before_their_content(tmp_path, most):
    plant(tmp_path / "site")
    source = FolderSource(tmp_path / "site")
    whole = {entry.path: entry for entry in source.entries("/", deep=True)}
    shipped: list[str] = []
    for part in cut(source.entries("/", deep=True), most):
        before = len(shipped)
        for path in part.paths:
            deep = path in part.deep_paths
            assert not deep or whole[path].kind is EntryKind.FOLDER
            shipped += [entry.path for entry in source.entries(path, deep)]
        assert len(shipped) - before <= most
    assert shipped == list(whole)
    if most >= len(whole):
        assert list(cut(whole.values(), most)) == [Part(("/",), ("/",))]
