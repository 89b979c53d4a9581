"""A command that starts as a warm copy behaves like a fresh process."""

import json
import os
import subprocess
import sys

import pytest

from tests.budget import spent_s


@pytest.mark.parametrize("words", [("init",), ("log", "list"), ("statsu",), ("queue", "edge-1")], ids=" ".join)
def test_a_warm_copy_behaves_like_a_fresh_process(warm_start, tmp_path, words):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
    ended = []
    for folder in (tmp_path / "copy", tmp_path / "fresh"):
        folder.mkdir()
        if folder.name == "copy":
            done = warm_start.run(words, folder, environ, "", 60)
        else:
            command = [sys.executable, "-m", "callboard", *words]
            done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        ended.append((done.returncode, done.stdout, done.stderr, sorted(path.name for path in folder.iterdir())))
    assert ended[0] == ended[1]


def test_a_warm_copy_has_the_given_input_and_environment(warm_start, tmp_path):
    environ = os.environ | {"CALLBOARD_LOG": "sqlite:///./other.db"}
    assert warm_start.run(("init",), tmp_path, environ, "", 60).returncode == 0
    requests = '{"kind": "test", "request_id": "1"}\n'
    done = warm_start.run(("run", "publisher", "--requests", "-"), tmp_path, environ, requests, 60)
    assert json.loads(done.stdout)["accepted"] is True
    assert (tmp_path / "other.db").exists()


def test_a_warm_copy_that_runs_too_long_is_killed_and_the_next_one_is_not(warm_start, tmp_path):
    assert warm_start.run(("init",), tmp_path, os.environ, "", 60).returncode == 0
    with pytest.raises(subprocess.TimeoutExpired):
        warm_start.run(("events", "--follow"), tmp_path, os.environ, "", 0.2)
    assert warm_start.run(("--version",), tmp_path, os.environ, "", 60).returncode == 0


def test_the_processor_time_of_a_warm_copy_counts(warm_start, tmp_path):
    before = spent_s()
    warm_start.run(("--help",), tmp_path, os.environ, "", 60)
    assert spent_s() > before
