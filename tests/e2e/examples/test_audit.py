"""Spark says who has what since when, and why not."""

import re
from collections.abc import Callable

import pytest

from tests.e2e.examples.reader import Reader


@pytest.mark.spark
def test_the_audit_says_who_has_what_and_why_not(reader: Callable[[str], Reader]) -> None:
    its = reader("audit")
    its.run("python", "history.py")
    said = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "THEN", its.run("python", "audit.py"))
    refused = "before_import hook __main__:no_smoking: ValueError: smoking is not allowed in Rome"
    assert said.splitlines() == [
        "/lunch.txt, version 2 of bob: not reported in oslo",
        "/lunch.txt, version 2 of bob: imported in paris since THEN",
        "/lunch.txt, version 2 of bob: imported in rome since THEN",
        "/smoking.txt, version 3 of bob: not reported in oslo",
        "/smoking.txt, version 3 of bob: imported in paris since THEN",
        f"/smoking.txt, version 3 of bob: removed_failed in rome since THEN {refused}",
    ]
