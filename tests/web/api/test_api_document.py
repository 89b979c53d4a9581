"""The program and the commands in docs/api.md do what is written there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.web.api.answers import RETRY_S
from callboard.web.api.follow import STREAMS_MAX
from callboard.web.api.reads.table import FOLLOWS, READS
from callboard.web.api.routes import ANSWER_S
from callboard.web.streams import QUIET_S, SEND_S
from tests.tidy.sources import ROOT
from tests.warm_start import WarmStart
from tests.web.api.served_board import DEADLINE_S, Served

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = re.findall(r"^\$ (callboard .*? \| jq .*)$", TEXT, re.MULTILINE)


def test_the_program_reads_every_page(served: Served, tmp_path: Path) -> None:
    program = tmp_path / "behind.py"
    program.write_text(FILES["behind.py"].replace("http://127.0.0.1:8477/api/v1", served.url))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("careless ") >= 3
    assert re.search(r"^stuck blocked 3 ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq")
def test_the_commands_give_jq_what_it_reads(served: Served, warm_start: WarmStart, command: str) -> None:
    words, _, rest = command.partition(" | ")
    said = warm_start.run(tuple(words.split()[1:]), served.folder, os.environ, "", DEADLINE_S)
    done = subprocess.run(rest, shell=True, input=said.stdout, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_every_path_and_bound_is_in_the_document() -> None:
    shown = re.sub(r"\b[A-Z]+\b", "{}", TEXT)
    for each in (*READS, *FOLLOWS):
        assert re.sub(r"{\w+}", "{}", each.path) in shown, each.path
        for parameter in each.parameters:
            assert f"`{parameter.name}`" in TEXT or f"{{{parameter.name}}}" in each.path, parameter.name
    for bound in (f"{ANSWER_S:g} s", f"{STREAMS_MAX} streams", f"After {QUIET_S:g} s", f"nothing for {SEND_S:g} s"):
        assert bound in TEXT
    assert RETRY_S


def test_the_envelope_is_as_shown() -> None:
    [shown] = re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert list(json.loads(shown)) == ["version", "status", "data", "diagnostics"]
