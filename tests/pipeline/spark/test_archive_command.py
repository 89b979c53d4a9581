"""``callboard pipeline archive`` as it is typed: once, and with ``--follow`` until a signal ends it."""

import asyncio
import json
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from callboard.archive.reader import ArchiveReader
from callboard.cli.pipeline import archive
from callboard.cli.terminal import exit_codes
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.record import NewRecord

TOPIC = "callboard.package"
ARCHIVE = ("archive", "--archive", "./archive")
DEADLINE_S = 200.0
POLL_S = 0.05


def packages(count: int) -> list[PackageMessage]:
    return [PackageMessage(publisher_instance="i", publisher="p", package_id=f"{number}", kind=Kind.ADD)
            for number in range(count)]  # fmt: skip


def archived(folder: Path) -> list[int]:
    """The offsets of all packages in the archive, as a reader finds them."""

    async def work() -> list[int]:
        async with ArchiveReader("archive", folder) as reader:
            if await reader.topic(TOPIC) is None:
                return []
            return [record.offset async for record in reader.read(TOPIC)]

    return asyncio.run(work())


@pytest.mark.timeout(600)
def test_a_run_reports_what_it_archived_and_ends_with_an_error_at_a_hole_until_that_is_accepted(
    typed, sqlite_log, tmp_path
):
    code, _, said = typed("archive")
    assert (code, "set archive.place" in said) == (exit_codes.USAGE, True)
    sqlite_log.append("package", *packages(30))
    sqlite_log.append_records("package", NewRecord(payload=b"bare"))
    code, said, warning = typed(*ARCHIVE, "--json")
    report = json.loads(said)["data"]
    package = report["topics"][0]
    assert (code, package["topic"], package["rows"], package["problem"]) == (0, TOPIC, 31, "")
    assert report["undecodable"] == {TOPIC: 1}
    assert f"{TOPIC}: 1 record cannot be decoded" in warning
    assert archived(tmp_path) == list(range(1, 32))

    sqlite_log.append("package", *packages(10))
    sqlite_log.trim("package", 35)
    code, said, error = typed(*ARCHIVE, "--json")
    assert (code, "ARCHIVE HOLE" in error) == (exit_codes.USAGE, True)
    assert "ARCHIVE HOLE" in json.loads(said)["data"]["topics"][0]["problem"]
    code, said, _ = typed(*ARCHIVE, "--accept-hole")
    assert (code, "archived 7 records" in said) == (0, True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, exit_codes.INTERRUPTED), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_following_archives_new_records_until_a_signal_and_the_next_run_continues_from_there(
    typed, sqlite_log, tmp_path, monkeypatch, number, code
):
    """It is a copy of this process, and uses its Java process, which would else end with it."""
    monkeypatch.setattr(archive, "FOLLOW_S", 0.01)
    sqlite_log.append("package", *packages(3))

    def follow() -> None:
        sys.exit(typed(*ARCHIVE, "--follow")[0])

    follower = multiprocessing.get_context("fork").Process(target=follow)
    follower.start()
    try:
        for count in (3, 7):
            until_archived(tmp_path, count, follower)
            sqlite_log.append("package", *packages(4))
        until_archived(tmp_path, 11, follower)
        os.kill(follower.pid, number)
        follower.join(DEADLINE_S)
        assert follower.exitcode == code
    finally:
        follower.kill()
        follower.join()
    sqlite_log.append("package", *packages(1))
    assert typed(*ARCHIVE)[0] == exit_codes.OK
    assert archived(tmp_path) == list(range(1, 13))


def until_archived(folder: Path, count: int, follower: BaseProcess) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while archived(folder) != list(range(1, count + 1)):
        assert follower.is_alive(), f"it ended with {follower.exitcode}"
        assert time.monotonic() < deadline, f"{archived(folder)} are archived, and not {count}"
        time.sleep(POLL_S)
