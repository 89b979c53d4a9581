"""Errors have codes, which stay the same when the text changes."""

import ast
import json
import pickle
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from callboard.cli.run_command import run
from callboard.errors import BlobMissing, RefusalCode, RequestRefused, RootFilled, SubscriberTaken
from tests.tidy.sources import ROOT, calls

DESCRIBED = re.compile(r"^\| `(\w+)` \| .* \|$", re.MULTILINE)
OWN_CODES = {"callboard.errors.CommandRefused", "dataclasses.replace"}
"""What takes codes of another sort: those of entities, and of folds."""


def test_the_code_of_an_error_is_its_class_name_and_a_refusal_has_a_finer_code():
    assert [BlobMissing("a").code, SubscriberTaken("b").code, RootFilled("c").code] == [
        "blob_missing", "subscriber_taken", "root_filled",
    ]  # fmt: skip
    assert RequestRefused("d").code == "invalid"
    assert RequestRefused("e", code="gone").code == "gone"


def test_error_codes_are_kept_between_processes():
    refused = pickle.loads(pickle.dumps(RequestRefused("e", code="gone")))
    assert (refused.code, str(refused)) == ("gone", "e")


def codes(call: ast.Call) -> list[str]:
    """The code that a call gives, if there is one."""
    values = [word.value for word in call.keywords if word.arg == "code"]
    return [str(value.value) for value in values if isinstance(value, ast.Constant) and value.value]


def test_every_refusal_code_is_used_and_documented():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    described = DESCRIBED.findall(page[page.index("### Codes of errors") : page.index("## States")])
    assert sorted(described) == sorted([*get_args(RefusalCode), "root_filled"])
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "callboard").rglob("*.py")]
    given = {code for tree in trees for call, name in calls(tree) if name not in OWN_CODES for code in codes(call)}
    assert given | {"invalid"} == set(get_args(RefusalCode))


@pytest.mark.parametrize(
    ("words", "code"), [(("log", "list", "--since", "soon"), "invalid"), (("queue", "edge-9"), "unknown_name")]
)
def test_a_command_that_fails_prints_its_code_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], code: str
):
    monkeypatch.chdir(tmp_path)
    for given, ended in ((("init",), 0), ((*words, "--json"), 2)):
        monkeypatch.setattr(sys, "argv", ["callboard", *given])
        assert run() == ended
    out, err = capsys.readouterr()
    envelope = json.loads(out.splitlines()[-1])
    assert (envelope["status"], envelope["data"]) == ("error", None)
    [error] = envelope["diagnostics"]
    assert error["code"] == code
    assert f"error: {error['message']}" in err
