"""Every contract of import-linter in pyproject.toml finds the import that it forbids."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

FORBIDDEN = {
    "imports point one way": ("callboard.backends.log", "callboard.board.views"),
    "the runtime and the worlds carry out what actors decide, and no publisher knows a subscriber":
        ("callboard.actors.publisher.roles", "callboard.actors.subscriber.roles"),
    "the board stands on its rooms, these on its context, and that on what connects it":
        ("callboard.board.connect.user", "callboard.board.context"),
    "commands stand on their options, and these on the terminal":
        ("callboard.cli.terminal.screen", "callboard.cli.options"),
    "the engine of simulations knows neither what it simulates nor the bugs planted in it":
        ("callboard.testing.simulation.engine.shrink", "callboard.testing.simulation.distribution.run"),
    "only the codec knows the generated code": ("callboard.messages.bounds", "callboard.messages._pb.record_pb2"),
    "backends and signatures take records of any sort, and know no message":
        ("callboard.messages.signing", "callboard.messages.distribution.ledger"),
    "only actors/runtime/actor_system imports thespian": ("callboard.actors.core.agent", "thespian.actors"),
    "only backends/postgres knows asyncpg": ("callboard.backends.logs.postgres.log", "asyncpg"),
    "only the log on Kafka, and what judges it, knows aiokafka": ("callboard.backends.log", "aiokafka"),
    "only the blob store on S3, and the server for its tests, knows its client":
        ("callboard.backends.blob_store", "botocore.exceptions"),
    "only the archive and the pipeline know Arrow": ("callboard.content.survey", "pyarrow.parquet"),
    "only connectors know encryption and call others over HTTP": ("callboard.board.views", "httpx"),
    "only connectors and the console serve HTTP": ("callboard.board.views", "starlette.routing"),
    "only telemetry knows OpenTelemetry": ("callboard.board.views", "opentelemetry.trace"),
    "only the pipeline knows Spark and its tables": ("callboard.archive.reader", "pyspark.sql"),
    "only metrics know the client of Prometheus": ("callboard.board.views", "prometheus_client"),
    "only the command line knows the terminal": ("callboard.board.views", "rich.text"),
}  # fmt: skip
"""Of every contract, a module and what it must not import."""

MORE = [
    ("callboard.actors.core.agent", "callboard.actors.publisher.roles"),
    ("callboard.actors.subscriber.roles", "callboard.actors.worlds.world"),
    ("callboard.actors.topology.verdict", "callboard.actors.subscriber.settings"),
]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of a copy in which every contract is broken."""
    folder = tmp_path_factory.mktemp("planted")
    package = shutil.copytree(ROOT / "callboard", folder / "callboard", ignore=shutil.ignore_patterns("__pycache__"))
    for importer, imported in [*FORBIDDEN.values(), *MORE]:
        file = package.joinpath(*importer.split(".")[1:]).with_suffix(".py")
        file.write_text(f"import {imported}\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    linter = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache", "--config"]
    done = subprocess.run(
        [*linter, str(ROOT / "pyproject.toml")],
        cwd=folder, env={"COLUMNS": "1000", "PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_every_contract_has_an_example_that_breaks_it():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert {contract["name"] for contract in options["contracts"]} == set(FORBIDDEN)


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_import_breaks_the_contract(verdicts: str, name: str):
    assert f"{name} BROKEN" in verdicts, verdicts


@pytest.mark.parametrize(("importer", "imported"), [*FORBIDDEN.values(), *MORE])
def test_the_report_names_the_import(verdicts: str, importer: str, imported: str):
    external = imported.partition(".")[0]
    told = imported if external == "callboard" else external
    assert f"{importer} -> {told} (l." in verdicts, verdicts
