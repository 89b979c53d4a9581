"""A service opens the board of callboard.toml and the environment, as the command line does."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

import callboard.sync
from callboard import Callboard, ConfigError

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"


def configured(folder: Path, text: str) -> Path:
    file = folder / "callboard.toml"
    file.write_text(text)
    return file


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


def test_the_example_in_the_reference_runs(tmp_path: Path) -> None:
    section = REFERENCE.read_text().partition("### In a service\n")[2]
    (example,) = re.findall(r"```python\n(.*?)```", section.partition("\n### ")[0], re.DOTALL)
    configured(tmp_path, 'log = "sqlite:///./content"\nblobs = "./large"\n')
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.txt").write_text("a")
    run = [sys.executable, "-c", example]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("stopped\n", 0), done.stderr
    assert (tmp_path / "out" / "a.txt").read_text() == "a"
    assert (tmp_path / "content").is_dir()


def test_a_board_has_the_settings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a secret of sixteen bytes")
    (tmp_path / "key").chmod(0o600)
    file = configured(
        tmp_path,
        'log = "sqlite:///./content"\nprefix = "shop"\nsigning_key = "ops=./key"\n[publisher]\nexclude = ["*.bak"]\n'
        'throttle_by = "all"\nevents = ["failed"]\n[janitor]\nenabled = true\ngrace_hours = 30\n'
        '[archive]\nplace = "./old"\n',
    )
    settings = Callboard.from_config(file, environ={"CALLBOARD_PUBLISHER__THROTTLE_AT": "7"}).settings
    assert settings.log == f"sqlite:///{tmp_path}/content"
    assert (settings.prefix, settings.exclude, settings.blobs_for) == ("shop", ("*.bak",), str(tmp_path / "old"))
    assert settings.blob_grace_s == 30 * 3600
    assert settings.signing_key is not None
    assert (settings.signing_key.id, settings.base) == ("ops", tmp_path / "elsewhere")
    publishing = settings.publishing
    assert (publishing.throttle_by, publishing.throttle_at, publishing.events) == ("all", 7, ("failed",))


def test_the_file_comes_from_the_argument_the_variable_or_the_folder_in_this_order(tmp_path: Path) -> None:
    for name in ("given", "named", "elsewhere"):
        (tmp_path / name).mkdir(exist_ok=True)
        configured(tmp_path / name, f'prefix = "{name}"\n')
    variable = {"CALLBOARD_CONFIG": str(tmp_path / "named" / "callboard.toml")}
    given = str(tmp_path / "given" / "callboard.toml")
    assert Callboard.from_config(given, environ=variable).settings.prefix == "given"
    assert Callboard.from_config(environ=variable).settings.prefix == "named"
    assert Callboard.from_config(environ={}).settings.prefix == "elsewhere"


def test_every_wrong_setting_is_reported_with_its_location(tmp_path: Path) -> None:
    file = configured(tmp_path, 'runtime = "threads"\n[publisher]\nthrotle_at = 7\n')
    with pytest.raises(ConfigError) as caught:
        Callboard.from_config(file, environ={"CALLBOARD_JANITOR__GRACE_HOURS": "soon"})
    first, second, third = sorted(str(caught.value).splitlines())
    assert "CALLBOARD_JANITOR__GRACE_HOURS" in first
    assert "runtime" in second
    assert "throttle_at" in third


def test_the_target_of_a_configured_subscriber_cannot_be_shipped(tmp_path: Path) -> None:
    file = configured(tmp_path, 'log = "memory:"\n[subscribers.edge-1]\ninto = "./out"\n')

    async def scenario() -> None:
        async with Callboard.from_config(file, environ={}) as board:
            with pytest.raises(callboard.RequestRefused, match="which a subscriber imports into"):
                await board.publisher().publish(tmp_path / "out")

    (tmp_path / "out").mkdir()
    asyncio.run(scenario())


def test_a_synchronous_board_can_be_made_from_the_configuration(tmp_path: Path) -> None:
    file = configured(tmp_path, 'log = "memory:"\nprefix = "shop"\n')
    with callboard.sync.Callboard.from_config(file, environ={}) as board:
        assert board.publisher("site").test().offset == 1
        assert board.status().subscribers == ()


def test_without_create_the_board_must_exist(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard.from_config(create=False, environ={}):
            pass

    with pytest.raises(callboard.TopicMissing):
        asyncio.run(scenario())
