"""The units are valid, and give away little. No systemd runs here as the first process."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.config.model import Config
from tests.deploy.files import UNITS

ANALYZE = shutil.which("systemd-analyze")

EXPOSURE_MAX = 2.0
"""Of 10; most services of a distribution have more than 9."""

DRAIN_S = {"subscriber@": Config().subscriber.stop_drain_s, "worker": Config().worker.drain_s}


@pytest.fixture(params=UNITS, ids=lambda path: path.name)
def unit(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def analyzed(*words: str) -> str:
    if not ANALYZE:
        pytest.skip("NOT CHECKED: systemd-analyze is not on the PATH; apt install systemd")
    done = subprocess.run([ANALYZE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_unit_is_valid_and_gives_away_little(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name.replace("@", "@edge-1")
    copy.write_text(re.sub(r"(?<=ExecStart=)\S+", sys.executable, unit.read_text(encoding="utf-8")))
    assert analyzed("verify", "--man=no", str(copy)) == ""
    said = analyzed("security", "--offline=yes", "--no-pager", str(copy))
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert float(exposure) <= EXPOSURE_MAX


def test_an_unknown_setting_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.service"
    wrong.write_text("[Service]\nExecStart=/bin/true\nRestrat=always\n")
    assert "'Restrat'" in analyzed("verify", "--man=no", str(wrong))


def test_all_units_are_hardened_alike() -> None:
    hardening = {unit.read_text(encoding="utf-8").partition("\nNoNewPrivileges=")[2] for unit in UNITS}
    assert len(hardening) == 1
    assert len(UNITS) == 4


def test_what_runs_may_finish(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    kind = unit.stem.removeprefix("callboard-")
    assert int(stop_s) >= 2 * DRAIN_S.get(kind, 0)


def test_each_has_a_place_of_its_own(unit: Path) -> None:
    text = unit.read_text(encoding="utf-8")
    name = "%i" if "@" in unit.name else unit.stem.removeprefix("callboard-")
    assert f"WorkingDirectory=/etc/callboard/{name}\n" in text
    assert f"StateDirectory=callboard/{name}\n" in text
