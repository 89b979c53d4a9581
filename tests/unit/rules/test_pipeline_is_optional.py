"""A user without the pipeline loads none of it, and gets an error that says what to install."""

import subprocess
import sys

import pytest

from callboard.errors import ConfigError, ExtraMissing

IMPORTS = """
import sys
import callboard, callboard.sync, callboard.cli.app, callboard.board.board, callboard.testing.servers.postgres
heavy = {"pyspark", "pandas", "pyarrow", "adbc_driver_postgresql", "ptars", "deltalake"}
found = {name.partition(".")[0] for name in sys.modules} & heavy
assert not found, found
assert not [name for name in sys.modules if name.startswith("callboard.pipeline")]
"""


def test_the_core_imports_neither_the_pipeline_nor_its_dependencies():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


def test_the_error_for_a_missing_package_shows_the_command_that_installs_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("callboard.pipeline")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'callboard\[spark\]'"):
        import callboard.pipeline  # noqa: F401


@pytest.mark.spark
@pytest.mark.parametrize("environ", [{"PATH": ""}, {"PATH": "/usr/bin", "JAVA_HOME": "/nowhere"}])
def test_the_error_for_missing_java_says_what_to_install(environ):
    from callboard.pipeline.session import check_java

    with pytest.raises(ConfigError, match="install Java 17"):
        check_java(environ)
