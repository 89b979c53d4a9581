"""What backends tell of themselves, as the doctor takes it."""

import asyncio
from collections.abc import Sequence
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from callboard.backends import offered
from callboard.backends.examination import Clock, Examination, Level, advice, clock_finding, problem
from callboard.backends.local.folder_examination import examine_place
from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.board.care import checkup
from callboard.board.care.checkup import examine_backends
from callboard.board.connect.settings import BoardSettings
from callboard.errors import LogUnavailable

S = 10**9


class OwnLog(MemoryLog):
    """A log of another package, which tells how it is."""

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        return Examination([advice(f"{len(topics)} topics at {clock()}", "nothing")])


class LateLog(MemoryLog):
    """One that never answers."""

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        await asyncio.Event().wait()
        raise AssertionError


class LostLog(MemoryLog):
    """One that cannot be reached."""

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        raise LogUnavailable("no answer; plug it in")


def open_own(url: str, _: Path) -> Log:
    return {"own:": OwnLog, "own:late": LateLog, "own:lost": LostLog}[url]()


def found(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str) -> checkup.Checkup:
    entry = EntryPoint("own", f"{__name__}:open_own", offered.LOGS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: open_own)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    settings = BoardSettings(url, str(folder / "blobs"), folder)
    return asyncio.run(examine_backends(settings, {}, lambda: 7))


def test_a_log_of_another_package_is_examined_if_it_has_the_method(monkeypatch, tmp_path) -> None:
    assert found(monkeypatch, tmp_path, "own:").findings["log"] == [advice("6 topics at 7", "nothing")]
    assert found(monkeypatch, tmp_path, "memory:").findings["log"] == []


def test_an_error_of_a_log_is_reported_as_a_problem_with_its_fix(monkeypatch, tmp_path) -> None:
    report = found(monkeypatch, tmp_path, "own:lost")
    assert report.findings["log"] == [problem("no answer", "plug it in")]
    assert not report.is_well()
    assert report.is_well("blobs")


def test_the_doctor_does_not_wait_for_ever_for_a_log(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(checkup, "ANSWER_S", 0.05)
    (late,) = found(monkeypatch, tmp_path, "own:late").findings["log"]
    assert late.level is Level.PROBLEM
    assert "no answer within" in late.what


@pytest.mark.proves("T62")
@pytest.mark.parametrize(
    ("server_s", "asked_s", "answered_s", "level"),
    [
        (100, 100, 100.2, Level.OK),
        (100, 104, 104.2, Level.OK),
        (100, 107, 107.2, Level.PROBLEM),
        (100, 93, 93.2, Level.PROBLEM),
        (100, 93, 105, Level.OK),  # the answer took so long that nothing can be told
    ],
)
def test_clocks_are_compared_as_exactly_as_the_response_time_allows(server_s, asked_s, answered_s, level) -> None:
    assert clock_finding("x", server_s * S, int(asked_s * S), int(answered_s * S)).level is level


def test_examining_a_folder_does_not_create_it(tmp_path) -> None:
    (here,) = examine_place("log", tmp_path / "a" / "b")
    assert here.level is Level.OK
    assert "does not exist yet" in here.what
    assert not list(tmp_path.iterdir())
    (tmp_path / "a").write_text("a file")
    (file,) = examine_place("log", tmp_path / "a" / "b")
    assert file.level is Level.PROBLEM
    assert examine_place("repository", tmp_path / "a", file=True)[0].level is Level.OK
