"""The programs in docs/distributed-events.md run as they are written there, and its numbers are those of the code."""

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.board.events.listener import FAILED, RETRIES, STORE_S, TIMEOUT_S
from callboard.board.jobs.functions.publishing import PUBLISH
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "distributed-events.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (callboard .*)$", TEXT, re.MULTILINE)]


def test_the_programs_of_the_document_publish_and_hear(newcomer: Terminal) -> None:
    newcomer.run("init")
    for name, text in PROGRAMS.items():
        (newcomer.folder / name).write_text(text)
    prices = [sys.executable, "prices.py"]
    done = subprocess.run(prices, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert done.stdout == "shop/price {'article': 17, 'cents': 99} True\n"
    heard = newcomer.folder / "mailer.txt"
    with heard.open("w") as file, subprocess.Popen(
        [sys.executable, "mailer.py"], cwd=newcomer.folder, stdout=file, stderr=subprocess.STDOUT
    ) as mailer:  # fmt: skip
        try:
            publish, listed, listen, listeners = COMMANDS
            newcomer.run(*publish)
            assert "49" in newcomer.out(*listed)
            assert newcomer.out(*listen).count('"topic": "shop/price"') == 2
            assert "shown" in newcomer.out(*listeners)
            deadline = time.monotonic() + DEADLINE_S
            while heard.read_text().count("\n") < 2:
                assert time.monotonic() < deadline, heard.read_text()
                time.sleep(0.02)
        finally:
            mailer.kill()
    assert re.fullmatch(r"shop/price 99 from \S+\nshop/price 49 from \S+\n", heard.read_text())
    assert [each["name"] for each in newcomer.json("schedules")] == ["opening"]


@pytest.mark.parametrize(
    "words",
    [
        f"after {FAILED.first_s:g} s, then after twice as long each time, {FAILED.max_s / 60:g} minutes at most",
        f"`retries` ({RETRIES}; -1 is for ever)",
        f"longer than `timeout_s` ({TIMEOUT_S:g} s)",
        f"jobs of the topic `{PUBLISH}`",
    ],
)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())
    assert (STORE_S, FAILED.factor) == (1, 2)


def test_every_call_in_the_document_exists() -> None:
    calls = set(re.findall(r"board\.events\.(\w+)", TEXT))
    assert calls
    assert [call for call in calls if not hasattr(Callboard("memory:").events, call)] == []
