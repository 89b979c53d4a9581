"""The hook and the configuration in docs/hooks.md run as they are written there."""

import re
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.core.hooks import Hook, HookCall

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "hooks.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


@pytest.mark.proves("F88", "F89")
def test_the_documented_hook_unpacks_imported_archives(terminal: Any) -> None:
    for name, text in FILES.items():
        (terminal.folder / name).write_text(text)
    downloads = terminal.folder / "site" / "downloads"
    (downloads / "a folder named like.zip").mkdir(parents=True)
    with zipfile.ZipFile(downloads / "manual.zip", "w") as archive:
        archive.writestr("page.txt", "unpacked")
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    found, deadline = terminal.folder / "unpacked" / "manual" / "page.txt", time.monotonic() + 60
    while not found.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found.read_text() == "unpacked"


def test_every_hook_and_its_arguments_are_documented() -> None:
    for word in (*Hook, *HookCall.__dataclass_fields__):
        assert f"`{word}`" in TEXT
