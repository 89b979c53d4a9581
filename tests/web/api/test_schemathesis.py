"""Schemathesis makes requests of the document, valid and invalid ones, and compares the answers with it.

``make api-fuzz`` makes more. It runs as a program of its own: what it imports warns.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callboard.web.api.reads.table import READS
from tests.web.api.served_board import Served

EXAMPLES = int(os.environ.get("CALLBOARD_API_EXAMPLES", "5"))
SEED = os.environ.get("CALLBOARD_API_SEED", "1")

LEFT_OUT = {
    "positive_data_acceptance": "that a text is a cursor, a name or a condition is more than a schema can tell",
    "ignored_auth": "there is no user on this board",
}
"""Checks that are not made, and why."""


def with_examples(document: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The document, with what there is on the board as the examples of parameters, so that there are answers."""
    for each in document["paths"].values():
        for parameter in each["get"]["parameters"]:
            if parameter["name"] in known:
                parameter["example"] = known[parameter["name"]]
    return document


@pytest.mark.timeout(360 + 20 * EXAMPLES)
def test_answers_are_what_the_document_says_for_whatever_is_asked(served: Served, tmp_path: Path):
    known = {
        "subscriber": "careless", "publisher": "main", "path": "/index.html", "entry": "callboard.package@1",
        "topic": "package", "name": "nightly", "job": served.data("/jobs?state=succeeded")["items"][0]["id"],
        "epoch": served.data("/topology")["epoch"], "offset": 1,
    }  # fmt: skip
    document = tmp_path / "document.json"
    document.write_text(json.dumps(with_examples(served.ask("/openapi.json").json(), known)))
    words = [
        sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url", served.url, "--exclude-tag", "streams",
        "--seed", SEED, "--max-examples", str(EXAMPLES), "--request-timeout", "60", "--no-color", "--warnings", "off",
        "--exclude-checks", ",".join(LEFT_OUT), "--generation-database", "none", "--continue-on-failure",
    ]  # fmt: skip
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300 + 20 * EXAMPLES, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert f"{len(READS)} passed" in done.stdout
