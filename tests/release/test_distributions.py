"""The sdist and the wheel that ``make dist`` makes."""

import json
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

from callboard.version import __version__
from tests.release.environment import ROOT, Environment, built, copied, ended

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    paths = [path for path in (ROOT / "callboard").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    ours = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    inside = {name: content for name, content in contents(wheel).items() if ".dist-info/" not in name}
    assert inside == ours
    assert {Path(name).suffix for name in ours} >= {".py", ".typed", ".proto", ".sql", ".html", ".css", ".js"}


def test_the_tree_and_the_sdist_make_the_same_wheel_bit_for_bit(tmp_path: Path) -> None:
    wheels = []
    for options in ((), ("--wheel",)):
        source, dist = (tmp_path / name / str(len(options)) for name in ("source", "dist"))
        source.mkdir(parents=True)
        wheels.append(built(copied(source), dist, *options, SOURCE_DATE_EPOCH="1700000000"))
        for path in source.rglob("*.py"):
            path.touch()
    assert contents(wheels[0]) == contents(wheels[1])
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_the_metadata_names_every_python_that_may_install_it() -> None:
    pythons = re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">=3.{pythons[0]},<3.{int(pythons[-1]) + 1}"
    assert [int(minor) for minor in pythons] == list(range(int(pythons[0]), int(pythons[-1]) + 1))


def test_make_sbom_lists_what_is_installed_with_the_wheel(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", copied(tmp_path))
    ready = f"{sys.prefix}/.ready-test"  # it is, or this test would not run
    make = ["make", "sbom", "EXTRAS=postgres", f"VENV={sys.prefix}", "--old-file", ready]
    ended(make, tmp_path, SOURCE_DATE_EPOCH="1700000000")
    assert len(list(tmp_path.glob("dist/*"))) == 3
    (file,) = tmp_path.glob("dist/callboard-*.cdx.json")
    bill = json.loads(file.read_text(encoding="utf-8"))
    root = bill["metadata"]["component"]
    assert (bill["bomFormat"], root["name"], root["version"]) == ("CycloneDX", "callboard", __version__)
    there = Environment(tmp_path / "build" / "sbom").installed()
    assert {each["name"] for each in bill["components"]} == there - {"callboard"}
    assert "asyncpg" in there
