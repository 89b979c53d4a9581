"""A Spark session: a small local one, or the one that ``spark-submit`` has set up."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from callboard.errors import ConfigError
from callboard.pipeline.source.source import CallboardSource

OLDEST_JAVA = 17

LOCAL = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # a stateful stream with the default of 200 takes seven times as long
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    # A short run never warms up the second compiler, and a parallel collector is for more cores than two.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    # A task's error comes back as an exception; the log would show it twice more, with a hundred lines each.
    "spark.log.level": "OFF",
    "spark.python.daemon.module": "callboard.pipeline.source.worker_daemon",
}
"""For one machine: starts in half the time of Spark's defaults, and accepts no outside connections."""


def open_session(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """The active session, or that of ``spark-submit``, or a new one on this machine.

    Args:
        name: of the application.
        settings: override those of ``LOCAL``; no effect on an existing session.

    Raises:
        ConfigError: Java is missing or too old.
    """
    session = SparkSession.getActiveSession()
    if session is None and not {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"}.intersection(os.environ):
        check_java(os.environ)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers use the python3 on the PATH
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName(name)
        for key, value in {**LOCAL, **(settings or {})}.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    elif session is None:
        session = SparkSession.builder.appName(name).getOrCreate()
    session.dataSource.register(CallboardSource)
    return session


def check_java(environ: Mapping[str, str]) -> None:
    """Raise ``ConfigError`` unless Spark will find a usable Java."""
    home = environ.get("JAVA_HOME", "")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    advice = f"install Java {OLDEST_JAVA} or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless)"
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, where is none" if home else "there is none on the PATH"
        raise ConfigError(f"Spark needs Java, and {where}; {advice}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    line = said.partition("\n")[0]
    if found is None or int(found[1]) < OLDEST_JAVA:
        raise ConfigError(f"Spark needs Java {OLDEST_JAVA}, and {java} is {line}; {advice}")
