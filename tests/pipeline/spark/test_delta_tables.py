"""Projections as Delta tables: each old or new as a whole, and written once."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from callboard.cli.run_command import run
from callboard.cli.terminal import exit_codes
from callboard.errors import BlobUnavailable, ConfigError, ExtraMissing, LogReplaced
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, PackageStatusMessage, Status
from callboard.pipeline.sinks.delta_tables import DeltaPlace, publish
from callboard.pipeline.sinks.reach import Reach
from callboard.testing.servers.s3 import S3Server, moto_server

STRACE = shutil.which("strace")
NAMES = ["queue", "standing"]
COUNT = 50
PUBLISH = """
import sys
from pathlib import Path
from callboard.pipeline.sinks.delta_tables import DeltaPlace, publish
from callboard.pipeline.sinks.reach import Reach
publish(DeltaPlace.of("delta", Path.cwd()), Path(sys.argv[1]), Reach("log", 10, int(sys.argv[2])))
"""


def a_run(folder: Path, number: int) -> Path:
    """The tables of a run, in each row of which is its number."""
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        follows = pa.array([["blue"], []] * (COUNT // 2), pa.list_(pa.string()))
        table = pa.table({"id": range(COUNT), "run": [number] * COUNT, "follows": follows})
        pq.write_table(table, folder / name / "part.parquet")
    return folder


def reach(number: int) -> Reach:
    return Reach("log", 10, number)


def opened(place: DeltaPlace, name: str) -> DeltaTable:
    return DeltaTable(f"{place.root}/{name}", storage_options=place.options())


def contents(place: DeltaPlace) -> dict[str, set[int]]:
    """The runs whose rows are in the tables that there are; each has all rows once, or none yet."""
    found = {}
    for name in NAMES:
        if DeltaTable.is_deltatable(f"{place.root}/{name}", place.options()):
            rows = opened(place, name).to_pyarrow_table().to_pydict()
            found[name] = set(rows["run"])
            assert sorted(rows["id"]) == (list(range(COUNT)) if rows["id"] else [])
    return found


@pytest.mark.timeout(600)
@pytest.mark.skipif(STRACE is None, reason="strace is not installed; apt install strace, or nothing is struck here")
def test_a_publication_killed_before_any_commit_leaves_each_table_old_or_new_and_is_done_once(tmp_path):
    place = DeltaPlace.of("delta", tmp_path)
    runs = {number: a_run(tmp_path / f"run-{number}", number) for number in (1, 2, 3)}

    def killed(number: int, name: str, version: int) -> dict[str, set[int]]:
        """Publish in a process that is killed when this version of a table lacks nothing but its commit."""
        commit = tmp_path / "delta" / name / "_delta_log" / f"{version:020d}.json"
        strike = [STRACE, "-f", "-qq", "-o", os.devnull, "-P", commit, "-e", "inject=link,linkat:signal=KILL"]
        command = [sys.executable, "-c", PUBLISH, runs[number], str(number)]
        done = subprocess.run([*strike, *command], cwd=tmp_path, capture_output=True, timeout=300, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        return contents(place)

    assert killed(1, "queue", 0) == {}
    assert killed(1, "queue", 1) == {"queue": set()}
    assert killed(1, "standing", 1) == {"queue": {1}, "standing": set()}
    assert killed(2, "queue", 2) == {"queue": {1}, "standing": set()}
    assert publish(place, runs[2], reach(2)) == NAMES
    assert publish(place, runs[2], reach(2)) == [], "it was done twice"
    assert publish(place, runs[1], reach(1)) == [], "an older run took the place of a newer one"
    assert contents(place) == {"queue": {2}, "standing": {2}}
    assert [opened(place, name).version() for name in NAMES] == [2, 1]

    left = set((tmp_path / "delta").glob("*/*.parquet")) - committed(tmp_path / "delta")
    assert len(left) == 3, "the dead have written"
    for file in left:
        os.utime(file, (0, 0))
    assert publish(place, runs[3], reach(3)) == NAMES
    assert set((tmp_path / "delta").glob("*/*.parquet")) == committed(tmp_path / "delta")


def committed(folder: Path) -> set[Path]:
    """The files of all versions of the tables."""
    logs = folder.glob("*/_delta_log/*.json")
    commits = [(log, json.loads(line)) for log in logs for line in log.read_text().splitlines()]
    return {log.parent.parent / commit["add"]["path"] for log, commit in commits if "add" in commit}


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with moto_server() as running:
        running.create_bucket("lake")
        yield running


@pytest.fixture(params=["folder", "s3"])
def place(
    request: pytest.FixtureRequest, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DeltaPlace:
    if request.param == "folder":
        return DeltaPlace.of("delta and more", tmp_path)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return DeltaPlace.of(server.url("lake", tmp_path.name), tmp_path)


def test_of_several_concurrent_publications_one_replaces_each_table(place, tmp_path):
    place.check()
    for number in (1, 2):
        tables = a_run(tmp_path / f"run-{number}", number)
        with ThreadPoolExecutor(4) as pool:
            done = [pool.submit(publish, place, tables, reach(number)) for _ in range(4)]
        assert sorted(name for each in done for name in each.result(timeout=300)) == NAMES
        assert contents(place) == {name: {number} for name in NAMES}
    assert publish(place, tables, Reach("log", 11, 1)) == [], "it would have gone back in one topic"
    with pytest.raises(LogReplaced, match="another place"):
        publish(place, tables, Reach("other", 10, 3))
    assert contents(place) == {name: {2} for name in NAMES}


@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_a_bucket_in_which_one_commit_would_overwrite_another_is_refused(place, monkeypatch):
    monkeypatch.setattr("callboard.backends.blob_stores.s3.conditions.IF_ABSENT", {})
    with pytest.raises(ConfigError, match="ignores If-None-Match"):
        place.check()


def test_an_unusable_destination_is_reported_first(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="write a folder, or s3://"):
        DeltaPlace.of("ftp://lake/callboard", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BlobUnavailable, match="file/delta cannot be used"):
        publish(DeltaPlace.of("file/delta", tmp_path), a_run(tmp_path / "run", 1), reach(1))
    monkeypatch.delitem(sys.modules, "callboard.pipeline.sinks.delta_tables")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'callboard\[delta\]'"):
        import callboard.pipeline.sinks.delta_tables  # noqa: F401


@pytest.mark.timeout(600)
def test_a_rebuild_publishes_all_its_tables_with_the_offsets_that_it_read(
    spark, sqlite_log, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "callboard.toml").write_text(f'log = "{sqlite_log.url}"\n')
    package = PackageMessage(publisher_instance="i", publisher="p", package_id="1", kind=Kind.ADD, length=1)
    failed = PackageStatusMessage(
        subscriber_instance="i", subscriber="s", publisher="p", offset=1, status=Status.REMOVED_FAILED
    )
    sqlite_log.append("package", package, package)
    sqlite_log.append("status", failed)
    sqlite_log.append("discovery")
    monkeypatch.setattr(sys, "argv", ["callboard", "pipeline", "rebuild", "--out", "out", "--delta", "delta"])
    assert run() == exit_codes.OK, capsys.readouterr().err

    current = tmp_path / "out" / "current"
    report = json.loads((current / "report.json").read_text())
    rows = {}
    for name in report["tables"]:
        rows[name] = DeltaTable(tmp_path / "delta" / name).to_pyarrow_table().to_pylist()
        assert sorted(rows[name], key=str) == sorted(pq.read_table(current / name).to_pylist(), key=str)
    assert len(rows) == 7
    assert [row["subscriber"] for row in rows["error_queue"]] == ["s"]
    stops = {topic: read["stop"] for topic, read in report["topics"].items()}
    assert stops == {"package": 3, "status": 2, "discovery": 1}
    assert publish(DeltaPlace.of("delta", tmp_path), current, Reach(report["log_id"], **stops)) == []
