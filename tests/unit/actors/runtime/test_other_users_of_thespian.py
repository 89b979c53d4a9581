"""A service that has another version of thespian, or uses the same one itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import thespian.actors

from callboard.actors.runtime.actor_system import release
from callboard.errors import ConfigError

START = """
import asyncio, sys
from pathlib import Path

from callboard.actors.runtime import start_agent
from callboard.errors import ConfigError
from callboard.testing.conformance.runtime_example import example_agent

try:
    asyncio.run(start_agent(example_agent(Path("diary")), sys.argv[1]))
except ConfigError as error:
    print(error)
"""

BESIDE_ONE_OF_ITS_OWN = """
import asyncio, json, pkgutil, sys
from pathlib import Path

from thespian.actors import Actor, ActorSystem

from callboard.actors.runtime import start_agent
from callboard.actors.runtime.actor_system.private_names import PRIVATE_NAMES
from callboard.testing.conformance.runtime_example import example_agent, word

SET_ON_INSTANCES = {"_myRef", "_child_procs", "childProc", "logdefs", "myAddress", "_adminAddr", "serMsg", "stage"}

class Parrot(Actor):
    def receiveMessage(self, message, sender):
        self.send(sender, message + message)

def names():
    return {name: repr(pkgutil.resolve_name(name)) for name in PRIVATE_NAMES
            if name.rpartition(".")[2] not in SET_ON_INSTANCES} | {
            "defaults": repr(pkgutil.resolve_name("thespian.system.transport.TransmitIntent.__init__").__defaults__)}

async def main():
    system = ActorSystem("simpleSystemBase", logDefs=False)
    before, parrot, heard = names(), system.createActor(Parrot), []
    agent = await start_agent(example_agent(Path("diary")), sys.argv[1])
    heard.append(system.ask(parrot, "a", 10))
    heard.append((await agent.ask("echo", word("hello"), 10)).command_id)
    heard.append(system.ask(system.createActor(Parrot), "b", 10))
    await agent.stop(1)
    heard.append(system.ask(parrot, "c", 10))
    system.shutdown()
    return [heard, before, names()]

print(json.dumps(asyncio.run(main())))
"""


def run(folder: Path, *words: str, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Python in this folder, with ``path`` before all that is installed."""
    found = [str(path)] if path else []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*found, *filter(None, sys.path)])}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(params=["an unrelated package", "another release"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with another thespian in it."""
    package = tmp_path / "other" / "thespian"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("print('it has been run')")
    if request.param == "another release":
        (package.parent / "thespian-4.0.2.dist-info").mkdir()
        shutil.copy(thespian.actors.__file__, package)
    return package.parent


def refusal(other: Path) -> str:
    return (
        f"actors run on thespian 4.0.1, and Python finds another in {other / 'thespian'}; "
        "run: pip install thespian==4.0.1, and rename or remove any other thespian on sys.path\n"
    )


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_an_agent_does_not_start_with_another_thespian(tmp_path: Path, other: Path, runtime: str) -> None:
    done = run(tmp_path, "-c", START, runtime, path=other)
    assert (done.stdout, done.stderr) == (refusal(other), "")


def test_an_agent_does_not_start_without_thespian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"Python finds none; run: pip install thespian==4\.0\.1"):
        release.demand_tested_release()


def test_with_another_thespian_a_board_can_be_read_but_not_written(tmp_path: Path, other: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    for words in (["init"], ["publish", "site"]):
        assert run(tmp_path, "-m", "callboard", *words).returncode == 0
    shown = run(tmp_path, "-m", "callboard", "log", "list", path=other)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "main: ADD /" in shown.stdout
    published = run(tmp_path, "-m", "callboard", "publish", "site", path=other)
    assert (published.returncode, published.stderr) == (2, f"error: {refusal(other)}")


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_a_service_can_use_thespian_beside_an_agent(tmp_path: Path, runtime: str) -> None:
    done = run(tmp_path, "-c", BESIDE_ONE_OF_ITS_OWN, runtime)
    assert done.returncode == 0, done.stderr
    heard, before, after = json.loads(done.stdout)
    assert heard == ["aa", "HELLO", "bb", "cc"]
    assert after == before
