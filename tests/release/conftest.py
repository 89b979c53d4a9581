"""The distributions of this tree, and an environment with them, made once for the tests of a file."""

from pathlib import Path

import pytest

from tests.release.environment import Environment, built, copied


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this tree, beside its sdist."""
    return built(copied(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and what it needs, and nothing else."""
    environment = Environment(tmp_path_factory.mktemp("plain") / "venv")
    environment.install(str(wheel))
    return environment
