"""Nonsensical command lines end with a message and an exit code, and never with a traceback."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callboard import sync
from callboard.cli.run_command import run
from callboard.cli.terminal import exit_codes

CODES = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
EXAMPLES = 100
"""Most open a log: 20 ms."""

COMMANDS = st.sampled_from(
    ["status", "queue", "errors", "clear", "retry", "skip", "pause", "resume", "throttle", "forget", "publish",
     "delete", "invalidate", "test", "explain", "metrics", "publisher-log", "log list", "log show", "log grep",
     "log trim", "log resend", "blobs collect", "no-command"]
)  # fmt: skip
OPTIONS = st.sampled_from(
    ["--to", "--publisher", "--request-id", "--wait", "--up-to", "--first", "--limit", "--after", "--reason",
     "--author", "--force", "--json", "--yes", "--start", "--follow", "--max-retries", "--golden", "--on-gap",
     "--below", "--older-than", "--topic", "--into", "--into=out", "--until-caught-up", "--config", "--no-option"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["edge-1", "site", "./site", "/a.txt", "3", "-1", "0", str(1 << 63), "9" * 5000, "1e400", "nan", "inf", "", " ",
     "a/b", "/../a", "\x1b[2J", "a\nb", "\u202egde", "\udc80", "x" * 5000, "callboard.package@1", "nonsense", "--"]
)  # fmt: skip


def test_a_nonsensical_command_line_ends_with_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site").mkdir()
    Path("site/a.txt").write_text("one")
    with sync.Callboard("sqlite:///./board.db") as board:
        board.publisher("site").publish("site")

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(command=COMMANDS, words=st.lists(OPTIONS | WORDS | WORDS, max_size=5))
    def typed(command: str, words: list[str]) -> None:
        arguments = ["callboard", *command.split(), *words]
        said, shown = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", arguments)
            patch.setattr(sys, "stdin", io.StringIO())
            patch.setattr(sys, "stdout", shown)
            patch.setattr(sys, "stderr", said)
            code = run()
        assert code in CODES - {exit_codes.BUG}, f"{arguments}: {code}, {said.getvalue()}"
        assert "Traceback" not in said.getvalue(), arguments

    typed()
