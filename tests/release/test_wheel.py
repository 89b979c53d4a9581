"""The wheel does its work where nothing else is installed, on every Python that it promises and that is found here.

Interpreters are looked for on the PATH, in pyenv, and in the folders of CALLBOARD_PYTHONS.
"""

import re
import urllib.request
from pathlib import Path

import pytest

from callboard.testing.servers.network import free_port
from tests.release.environment import FOLDERS, ROOT, Environment, interpreter, until

VERSIONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))

EXTRAS = {"asyncpg", "aiokafka", "aiobotocore", "pyarrow", "cryptography", "httpx", "starlette", "jinja2", "pyspark"}

WORK = """
from callboard import JobRegistry

jobs = JobRegistry()


@jobs.job("greet")
def greet(name: str) -> str:
    return f"Hello, {name}"
"""

PROVIDER = """
[console]
oidc_discovery = "https://id.example/.well-known/openid-configuration"
oidc_client_id = "callboard"
oidc_secret_file = "./secret"
viewers = ["*"]
"""


@pytest.fixture(scope="module", params=VERSIONS)
def environment(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and what it needs, under one of the interpreters."""
    python = interpreter(request.param)
    if not python:
        pytest.skip(f"NOT RUN ON PYTHON {request.param}: there is none; name the folder of one in {FOLDERS}")
    made = Environment(tmp_path_factory.mktemp("wheel") / "venv", python)
    made.install(str(wheel))
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("welcome to the theatre")
    (tmp_path / "work.py").write_text(WORK)
    return tmp_path


def test_content_and_jobs_with_the_core_alone(environment: Environment, folder: Path) -> None:
    assert not environment.installed() & EXTRAS
    here = environment.run_python(folder, "-c", "import callboard; print(callboard.__file__)")
    assert Path(here).is_relative_to(environment.folder)
    environment.callboard(folder, "init")
    environment.callboard(folder, "publish", "site")
    environment.callboard(folder, "run", "subscriber", "edge-1", "--into", "out", "--until-caught-up")
    assert (folder / "out" / "index.html").read_text() == "welcome to the theatre"
    (edge,) = environment.json(folder, "status")["subscribers"]
    assert (edge["name"], edge["state"], edge["lag_packages"], edge["imported"]) == ("edge-1", "stopped", 0, 1)
    environment.start(folder, "run", "worker", "work:jobs", "--member", "worker-1")
    try:
        job = environment.json(folder, "jobs", "add", "greet", '"world"', "--wait", "60")
    finally:
        environment.stop()
    assert (job["state"], job["result"]) == ("succeeded", "Hello, world")


def test_the_console_with_its_extra(environment: Environment, wheel: Path, folder: Path) -> None:
    environment.install(f"{wheel}[web]")
    environment.callboard(folder, "init")
    environment.callboard(folder, "publish", "site", "--publisher", "theatre")
    port = str(free_port())
    environment.start(folder, "console", "--listen", port)
    try:
        until(lambda: "console.started" in (folder / f"{port}.log").read_text())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/log/package") as answer:
            assert "theatre" in answer.read().decode()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            assert "<h1>Fleet</h1>" in answer.read().decode()
    finally:
        environment.stop()


def test_sign_in_at_a_provider_names_its_extra(environment: Environment, wheel: Path, folder: Path) -> None:
    environment.install(f"{wheel}[web]")
    environment.callboard(folder, "init")
    (folder / "secret").write_text("of the provider")
    (folder / "secret").chmod(0o600)
    (folder / "callboard.toml").write_text(PROVIDER)
    error = environment.callboard(folder, "console", code=2)
    assert error.endswith("; run: pip install 'callboard[web,oidc]'\n"), error
