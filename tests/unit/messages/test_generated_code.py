"""The generated code matches the schemas; needs the compiler, which the groups for tests bring."""

import runpy
import shutil
from pathlib import Path

import pytest

import callboard

MESSAGES = Path(callboard.__file__).parent / "messages"
GENERATE = MESSAGES / "proto" / "generate.py"


def run(script: Path, *arguments: str) -> int:
    code: int = runpy.run_path(str(script))["main"](list(arguments))
    return code


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script of a copy of the messages, in folders as deep as the real ones."""
    messages = tmp_path / "callboard" / "messages"
    for name in ("proto", "_pb"):
        shutil.copytree(MESSAGES / name, messages / name, ignore=shutil.ignore_patterns("__pycache__"))
    return messages / "proto" / "generate.py"


def test_the_committed_code_matches_the_schemas() -> None:
    assert run(GENERATE, "--check") == 0


def test_the_check_finds_a_changed_schema(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = copy.with_name("ledger.proto")
    schema.write_text(schema.read_text().replace("= 15;", "= 99;"))

    assert run(copy, "--check") == 1
    assert "ledger_pb2.py in" in capsys.readouterr().err


def test_the_check_finds_changed_or_superfluous_code(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generated = copy.parents[1] / "_pb"
    (generated / "old_pb2.py").write_text("")
    (generated / "record_pb2.py").unlink()

    assert run(copy, "--check") == 1
    assert "old_pb2.py, record_pb2.py in" in capsys.readouterr().err


def test_an_unknown_argument_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(GENERATE, "--force") == 1
    assert "--check" in capsys.readouterr().err
