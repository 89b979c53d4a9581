"""The scripts of deploy/spark, on executors that are processes of their own."""

import asyncio
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pyspark
import pytest
import yaml

from callboard import Callboard
from callboard.pipeline.jobs import rebuild
from callboard.pipeline.run import Run

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "spark"
DEADLINE_S = 800.0
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""No time for the second compiler, nor threads for more cores than there are."""

LIKEWISE = ("shuffle.partitions", "codegen.wholeStage", "codegen.factoryMode", "adaptive.enabled")
"""Settings that are to be those of the session of the tests, which suit a dozen records."""


async def a_run(url: str, folder: Path) -> None:
    """Some packages; one subscriber has them all, one is behind."""
    (folder / "site").mkdir()
    async with Callboard(url) as board:
        for number in range(12):
            (folder / "site" / f"{number % 3}.html").write_text("x" * number)
            await board.publisher(("blue", "red")[number % 2]).publish(folder / "site", replace_root=True)
            if number % 5 == 0:
                async with board.subscriber("behind", folder / "behind") as agent:
                    await agent.caught_up()
        async with board.subscriber("has", folder / "has", editable=True) as agent:
            await agent.caught_up()


@pytest.fixture
def board(tmp_path) -> Path:
    """The configuration of a board."""
    url = f"sqlite:///{tmp_path}/board.db"
    asyncio.run(a_run(url, tmp_path))
    config = tmp_path / "callboard.toml"
    config.write_text(f'log = "{url}"\n')
    return config


def packed_environment(folder: Path) -> tuple[Path, Path]:
    """A small environment whose packages are those of this process, and the same packed."""
    venv.create(folder / "venv", symlinks=True)
    [packages] = (folder / "venv").glob("lib/*/site-packages")
    elsewhere = [sysconfig.get_paths()["purelib"], str(DEPLOY.parents[1])]
    (packages / "these.pth").write_text("\n".join(elsewhere))
    packed = folder / "environment.tar.gz"
    subprocess.run([str(DEPLOY / "pack.sh"), str(folder / "venv"), str(packed)], check=True, timeout=DEADLINE_S)
    return folder / "venv" / "bin" / "python", packed


def spark_home(folder: Path) -> Path:
    """An installation of Spark that is the one of this process, with another place for what executors leave behind."""
    folder.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        if part.name != "work":
            (folder / part.name).symlink_to(part)
    return folder


def tables(spark, place: Path) -> dict[str, list[str]]:
    folders = [folder for folder in (place / "current").iterdir() if folder.is_dir()]
    return {folder.name: sorted(map(str, spark.read.parquet(str(folder)).collect())) for folder in folders}


@pytest.mark.timeout(900)
def test_a_rebuild_on_two_executors_makes_the_same_tables_as_one_process(spark, board, tmp_path):
    python, packed = packed_environment(tmp_path)
    home = spark_home(tmp_path / "spark")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CALLBOARD_", "PYSPARK_"))}
    java = f"{QUICK} {os.environ['SPARK_SUBMIT_OPTS']}"
    likewise = [f"-Dspark.sql.{name}={spark.conf.get(f'spark.sql.{name}')}" for name in LIKEWISE]
    done = subprocess.run(
        [str(DEPLOY / "submit.sh"), "rebuild", "--config", str(board), "--out", "cluster"],
        env=environ | {
            "MASTER": "local-cluster[2,1,1024]", "PYTHON": str(python), "ENVIRONMENT": str(packed),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DRIVER_MEMORY": "1g",
            "SPARK_SUBMIT_OPTS": " ".join([java, f'"-Dspark.executor.extraJavaOptions={java}"', *likewise]),
        },
        cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "standing: 2 rows" in done.stdout
    assert len(list(home.glob("work/app-*/*/environment/pyvenv.cfg"))) == 2, "an executor did nothing"
    assert not (tmp_path / "environment").is_symlink()

    rebuild(Run("test", spark, {"board": str(board)}, clock=iter(range(1, 99)).__next__), tmp_path / "local")
    expected = tables(spark, tmp_path / "local")
    assert tables(spark, tmp_path / "cluster") == expected
    assert len(expected["queue_size"]) > 0


def test_the_cron_job_runs_an_existing_command():
    import typer

    from callboard.cli.app import app

    job = yaml.safe_load((DEPLOY / "cronjob.yaml").read_text())
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    name, *words = container["args"]
    pipeline = typer.main.get_command(app).commands["pipeline"]
    pipeline.commands[name].make_context(name, words)
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert (
        "COPY deploy/spark/submit.sh deploy/spark/job.py deploy/spark/spark.properties"
        in (DEPLOY / "Dockerfile").read_text()
    )
