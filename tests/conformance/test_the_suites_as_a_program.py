"""``python -m callboard.testing.conformance``, as ``make conformance`` runs it."""

import io
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from callboard.backends.logs.memory import MemoryLog
from callboard.testing.conformance import __main__ as program
from callboard.testing.conformance.candidates import Candidate, without_server
from callboard.testing.conformance.candidates.memory_log import memory_log
from callboard.testing.conformance.log import LogHarness
from callboard.testing.conformance.log.records import headers, keys
from callboard.testing.conformance.log.service import restart
from callboard.testing.conformance.matrix import Matrix
from callboard.testing.conformance.planted.logs import DropsHeaders, broken_log


@pytest.fixture(autouse=True)
def _logging_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program.structlog, "configure", lambda **_: None)


def test_the_log_suite_passes_on_a_log_named_by_a_url(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert program.main(["log", f"sqlite:///{tmp_path}/board.db"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^a killed writer leaves whole appends +ok", shown, re.MULTILINE)
    assert "CLOCK" in shown
    assert "GAPS" in shown
    assert "0 FAIL" in shown


@pytest.mark.parametrize("url", ["sqlite:{}.db", "folder:{}"])
def test_a_repository_named_by_a_url_is_empty_for_every_check(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program.main(["repository", url]) == 0
    assert len(list(tmp_path.iterdir())) > 40


def test_a_store_for_folds_named_by_a_url_is_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program.main(["fold-store", "sqlite:{}.db"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^one of two saves wins +ok", shown, re.MULTILINE)
    assert "SQL: no other program can use its database" in shown


def test_an_invalid_argument_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, advice in (
        (["repository", "sqlite:same.db"], "where a new name can go"),
        (["log", "--only", "stone"], "choose from memory, sqlite"),
    ):
        with pytest.raises(SystemExit) as ended:
            program.main(arguments)
        assert ended.value.code == 2
        assert advice in capsys.readouterr().err


def test_the_result_is_machine_readable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert program.main(["blob-store", "--only", "folder,memory", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["blob store"]
    assert result["checks"]["closing is idempotent"] == {"folder": "ok", "memory": "ok"}
    assert result["problems"] == []


def table(*candidates: Candidate[LogHarness]) -> tuple[str, Matrix[LogHarness]]:
    out = io.StringIO()
    checks = [headers.check_headers_come_back_as_written, keys.check_keys_have_no_effect_unless_declared]
    matrix = Matrix("log", [*checks, restart.check_a_restart_loses_nothing], candidates, out)
    matrix.run()
    return out.getvalue(), matrix


def test_a_failure_is_shown_with_its_reason_and_the_other_checks_run() -> None:
    @contextmanager
    def broken():
        with broken_log(DropsHeaders) as harness:
            yield harness

    shown, matrix = table(without_server("memory", memory_log), without_server("broken", broken))
    assert shown.splitlines()[:4] == [
        "log                                  memory  broken",
        "headers come back as written         ok      FAIL  ",
        "keys have no effect unless declared  -a      -a    ",
        "a restart loses nothing              -b      -b    ",
    ]
    assert "  -a KEYS: declared, so there is nothing to refuse: memory, broken" in shown
    assert "1 ok, 4 not declared, 1 FAIL" in shown
    assert "broken fails headers come back as written:\nTraceback" in shown
    assert len(matrix.problems) == 1


def test_a_missing_server_fails_its_whole_column() -> None:
    @contextmanager
    def start():
        raise RuntimeError("there is no Maven")
        yield

    shown, matrix = table(Candidate("kafka", start))
    assert "0 ok, 0 not declared, 3 FAIL" in shown
    assert "kafka CANNOT BE STARTED, so nothing is known about it: there is no Maven" in shown
    assert len(matrix.problems) == 1


def test_a_run_with_a_problem_ends_with_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("callboard.backends.logs.memory.MemoryLog", type("Broken", (DropsHeaders, MemoryLog), {}))
    monkeypatch.setattr("callboard.testing.conformance.log.ALL_CHECKS", [headers.check_headers_come_back_as_written])
    assert program.main(["log", "memory:"]) == 1
    assert "FAIL" in capsys.readouterr().out
