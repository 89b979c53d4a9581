"""Errors have codes, which stay the same when the text changes."""

import json
import pickle
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from callboard.cli.run_command import run
from callboard.errors import BlobMissing, RefusalCode, RequestRefused, RootFilled, SubscriberTaken
from tests.tidy.sources import ROOT

DESCRIBED = re.compile(r"^\| `(\w+)` \| .* \|$", re.MULTILINE)
GIVEN = re.compile(r'\bcode="(\w+)"')


def test_the_code_of_an_error_is_its_class_name_and_a_refusal_has_a_finer_code():
    assert [BlobMissing("a").code, SubscriberTaken("b").code, RootFilled("c").code] == [
        "blob_missing", "subscriber_taken", "root_filled",
    ]  # fmt: skip
    assert RequestRefused("d").code == "invalid"
    assert RequestRefused("e", code="gone").code == "gone"


def test_error_codes_are_kept_between_processes():
    refused = pickle.loads(pickle.dumps(RequestRefused("e", code="gone")))
    assert (refused.code, str(refused)) == ("gone", "e")


def test_every_refusal_code_is_used_and_documented():
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    described = DESCRIBED.findall(page[page.index("### Codes of errors") : page.index("## States")])
    assert sorted(described) == sorted([*get_args(RefusalCode), "root_filled"])
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "callboard").rglob("*.py")]
    given = {code for text in texts for code in GIVEN.findall(text)}
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
    error = json.loads(out.splitlines()[-1])["error"]
    assert error["code"] == code
    assert f"error: {error['message']}" in err
