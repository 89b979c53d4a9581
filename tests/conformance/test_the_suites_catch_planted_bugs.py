"""The suites detect bugs: each broken backend fails at least one check."""

import io

import pytest

from callboard.testing.conformance.planted import PLANTED, Planted, catching_check, find_planted_bugs

BUGS = [(planted, kind) for planted in PLANTED for kind in planted.wrong]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.suite)
def test_a_backend_without_a_bug_passes(planted: Planted) -> None:
    assert catching_check(planted.checks, planted.new(planted.right)) is None


@pytest.mark.parametrize(("planted", "kind"), BUGS, ids=[f"{planted.suite}-{kind.__name__}" for planted, kind in BUGS])
def test_a_planted_bug_is_caught(planted: Planted, kind: type) -> None:
    assert catching_check(planted.checks, planted.new(kind)) is not None


def test_a_bug_that_no_check_catches_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    repositories = next(planted for planted in PLANTED if planted.suite == "repository")
    unnoticed = Planted("repository", repositories.checks[:1], repositories.right, [repositories.right],
                        repositories.harness)  # fmt: skip
    monkeypatch.setattr("callboard.testing.conformance.planted.PLANTED", [unnoticed])
    out = io.StringIO()
    assert find_planted_bugs(out) == {"repository: MemoryRepository": None}
    assert "ESCAPED" in out.getvalue()
    assert "0 of 1 planted bugs caught" in out.getvalue()
