"""Without an extra, what needs it says which command installs it, and ends with the code of a wrong configuration."""

import tomllib
from pathlib import Path

import pytest

from tests.release.environment import ROOT, Environment

COMMANDS = {
    "postgres": "status --log postgresql://127.0.0.1/board",
    "kafka": "status --log kafka://127.0.0.1:9092",
    "s3": "publish site --blobs s3://bucket/board",
    "archive": "archive verify --archive archive",
    "connectors": "topology demo",
    "web": "console",
    "spark": "pipeline rebuild --out tables",
}

IMPORTS = {"delta": "callboard.pipeline.sinks.delta_tables"}
"""What needs these is imported, for a command would first miss another one."""

WITHOUT = {"otel", "oidc", "all"}
"""Nothing is refused without the first: then there are no traces. The second is missed only beside ``web``, see
test_wheel.py; the last is all others."""

SPARK = "import sys; sys.dataset = sys; sys.modules |= dict.fromkeys(('pyarrow', 'pyarrow.dataset', 'pyspark'), sys)"
"""As if it were there."""


@pytest.fixture(scope="module")
def board(plain: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    (folder / "site").mkdir()
    plain.callboard(folder, "init")
    return folder


def test_each_extra_is_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*COMMANDS, *IMPORTS} | WITHOUT == set(project["optional-dependencies"])


@pytest.mark.parametrize("extra", COMMANDS)
def test_a_command_names_the_extra_that_it_needs(extra: str, plain: Environment, board: Path) -> None:
    error = plain.callboard(board, *COMMANDS[extra].split(), code=2)
    assert error.endswith(f"; run: pip install 'callboard[{extra}]'\n"), error


@pytest.mark.parametrize("extra", IMPORTS)
def test_a_service_is_told_the_extra_that_it_needs(extra: str, plain: Environment, board: Path) -> None:
    program = f"{SPARK}\ntry:\n  import {IMPORTS[extra]}\nexcept Exception as error:\n  print(repr(error))"
    said = plain.run_python(board, "-c", program)
    assert said.startswith("ExtraMissing("), said
    assert f"run: pip install 'callboard[{extra}]'" in said
