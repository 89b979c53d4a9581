"""The quarter of an hour in docs/tutorial.md can be typed as it stands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENDLESS = ("run subscriber", "run worker", "console")
"""Commands that go on in a terminal of their own."""


def test_the_tutorial_can_be_typed_as_it_stands(newcomer: Any) -> None:
    terminal = newcomer
    refused: list[tuple[str, ...]] = []
    said: dict[str, str] = {}
    for kind, name, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            (terminal.folder / name).write_text(text)
            for words in refused:
                terminal.start(*words, said="edge-2.log")
            refused.clear()
            continue
        for line in text.splitlines():
            said[line] = type_in(terminal, line.removeprefix("$ "), refused)
    assert not refused
    assert "edge-2 skipped 1 package" in said['$ callboard skip edge-2 --reason "a draft, not for visitors"']
    assert "queued behind 1 more" in said["$ callboard explain edge-2 /index.html"]
    assert "succeeded" in said["$ callboard jobs list --all"]
    assert "edge-3 idle 0" in said["$ python service.py"] or "edge-3 stopped 0" in said["$ python service.py"]


def type_in(terminal: Any, line: str, refused: list[tuple[str, ...]]) -> str:
    """What a line of the page prints; what goes on is started, or put aside if it has to be refused now."""
    program, *words = shlex.split(line)
    if program == "pip":
        return ""
    if program != "callboard":
        return shell(line, terminal.folder)
    if not " ".join(words).startswith(ENDLESS):
        until_it_is_so(terminal, words)
        return terminal.out(*words)
    if "check:no_drafts" in words and not (terminal.folder / "check.py").exists():
        assert "No module named 'check'" in terminal.refused(*words)
        refused.append(tuple(words))
    else:
        terminal.start(*words, said="started.log")
    return ""


def until_it_is_so(terminal: Any, words: list[str]) -> None:
    """Wait for what the page says of the subscribers before this command."""
    if words[:2] == ["queue", "edge-2"]:
        terminal.until("edge-2", lambda row: row["lag_packages"] == 2 and row["state"] == "retrying")
        terminal.until("edge-1", lambda row: row["lag_packages"] == 0 and row["offset"] == 3)
    elif words[:1] == ["status"] or words[:1] == ["verify"]:
        for name in ("edge-1", "edge-2"):
            terminal.until(name, lambda row: row["state"] in ("idle", "retrying"))


def shell(line: str, folder: Path) -> str:
    """What the line prints in a shell; ``diff`` must find nothing."""
    line = line.replace("mkdir theatre && cd theatre", "true").replace("mkdir site && echo", "rm -r site/blog && echo")
    line = line.replace("python ", f"{sys.executable} ", 1)
    done = subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout
