"""The program in docs/tracing.md runs as it is written there, and its tables name what there is."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import DEADLINE_S, Terminal

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
[PROGRAM] = re.findall(r"^```python file=traced.py\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_program_of_the_document_shows_its_traces(newcomer: Terminal) -> None:
    (newcomer.folder / "traced.py").write_text(PROGRAM)
    command = [sys.executable, "traced.py"]
    done = subprocess.run(command, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    logged = {(line := json.loads(each))["event"]: line for each in lines if each.startswith("{")}
    spans = dict(each.split(": ", 1) for each in lines if not each.startswith("{"))
    request = spans["request"]
    assert spans["publish main"] == spans["add mail"] == request
    for name, within in (("import main", "purge"), ("run mail", "smtp")):
        its, linked = spans[name].split(", linked with ")
        assert linked == request
        assert spans[within] == its
    assert spans["hook main"] == spans["purge"] == logged["cache.purged"]["trace_id"]
    assert logged["mail.sent"]["trace_id"] == spans["smtp"]
    assert logged["package.imported"]["trace_id"] == request


def test_the_document_names_every_attribute() -> None:
    files = [path.read_text(encoding="utf-8") for path in (ROOT / "callboard").rglob("*.py")]
    tracing = ("callboard.telemetry.spans import", "opentelemetry import")
    code = "".join(text for text in files if any(each in text for each in tracing))
    used = set(re.findall(r'"((?:messaging|callboard|error)\.[a-z_.]+)"[:\n]', code))
    assert len(used) > 10
    named = TEXT.replace("`, `.type`", "`, `messaging.operation.type`")
    assert {each for each in used if f"`{each}`" not in named} == set()
