"""Which subscribers need attention: status, queue, doctor and metrics share one judgement."""

from typing import Any

import pytest

from callboard.board.read.queues.queues import queue
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import board_metrics
from callboard.board.views import BoardStatus
from callboard.messages.distribution.topic_messages import State, Status, ThrottledMessage
from callboard.messages.topics import Topics

TOPICS = Topics.with_prefix()

STILL = {
    "blocked": ({"state": State.BLOCKED, "reason": "its digest differs"}, "package 6 cannot be imported"),
    "at its 51st attempt": (
        {"state": State.RETRYING, "attempts": 51, "reason": "attempt 51 failed: no space"},
        "attempt 51 failed: no space",
    ),
    "failed once": ({"state": State.RETRYING, "attempts": 1, "reason": "attempt 1 failed: no space"}, "attempt 1"),
    "tried again now": ({"state": State.IMPORTING, "attempts": 7, "last_error": "no space"}, "no space"),
    "at a gap": ({"state": State.GAP, "reason": "the log begins at 9"}, "the log begins at 9"),
    "waiting": ({"state": State.WAITING, "reason": "disk full"}, "disk full"),
    "paused": ({"state": State.PAUSED, "reason": "paused by kim"}, "paused by kim"),
    "throttled": ({"state": State.THROTTLED, "throttle_per_min": 3}, "3 packages a minute"),
    "staged for unknown": ({"state": State.STAGED, "golden": "edge-0"}, "edge-0, which was never heard of"),
    "idle for unknown": ({"state": State.IDLE, "golden": "edge-0", "offset": 10}, "edge-0, which was never heard of"),
    "long in starting": ({"state": State.STARTING, "since_s": 900, "reason": "waits for its name"}, "its name"),
    "idle with a lag": ({"state": State.IDLE}, "reports that it has processed everything, but has not"),
    "deaf to commands": ({"state": State.IDLE, "reason": "command 4 is damaged", "offset": 10}, "command 4 is damaged"),
    "stopped": ({"state": State.STOPPED}, "stopped with packages before it"),
    "stopped with hooks": ({"state": State.STOPPED, "hooks": 1, "offset": 10}, "hooks still to be called"),
    "with a hook that fails": (
        {"state": State.IDLE, "offset": 10, "hooks": 2, "hook_offset": 4, "hook_attempts": 3, "hook_error": "refused"},
        "the post-import hook of offset 4 failed 3 times: refused; 2 hooks are due",
    ),
}  # fmt: skip


@pytest.fixture
def behind(board: Any) -> Any:
    """Ten packages, which are two minutes old."""
    for number in range(10):
        board.package(path=f"/blog/{number}")
    board.pass_time(120)
    return board


@pytest.mark.parametrize("case", STILL)
def test_a_subscriber_that_makes_no_progress_needs_attention_and_says_why(behind: Any, case: str) -> None:
    said, words = STILL[case]
    said = {"head_offset": 6, **said}
    behind.announce("edge-1", said.pop("offset", 5), said.pop("state"), **said)
    row = behind.row("edge-1")
    assert row.needs
    assert words in " ".join(trouble.what for trouble in row.troubles)


@pytest.mark.parametrize("state", list(State))
def test_every_state_without_progress_is_reported_as_a_trouble(behind: Any, state: State) -> None:
    behind.announce("edge-1", 5, state, since_s=90, reason="" if state is State.IMPORTING else "so")
    assert bool(behind.row("edge-1").troubles) is (state is not State.IMPORTING)


@pytest.mark.parametrize(("seconds", "liveness"), [(60, "silent"), (2 * 3600, "gone")])
def test_a_silent_subscriber_needs_attention_even_with_an_empty_queue(behind: Any, seconds: int, liveness: str) -> None:
    behind.announce("edge-1", 10)
    behind.pass_time(seconds)
    row = behind.row("edge-1")
    assert (row.liveness, row.needs) == (liveness, True)


def test_packages_given_up_or_quarantined_and_failed_hooks_need_attention(behind: Any) -> None:
    for status in (Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED):
        behind.announce(status.name, 10)
        behind.tell(status.name, 4, status, "boom")
    assert [row.needs for row in behind.status().subscribers] == [True] * 3


@pytest.mark.parametrize(
    ("state", "needs"),
    [(State.IDLE, False), (State.IMPORTING, False), (State.BLOCKED, True), (State.PAUSED, True), (State.WAITING, True)],
)
def test_a_staged_subscriber_needs_no_attention_while_its_golden_one_makes_progress(
    behind: Any, state: State, needs: bool
) -> None:
    behind.announce("edge-0", 8, state, reason="" if not needs else "so")
    behind.announce("edge-1", 8, State.STAGED, golden="edge-0", head_offset=9)
    row = behind.row("edge-1")
    assert row.needs is needs
    assert "waits for the verdict of edge-0" in row.troubles[0].what


def test_a_failing_hook_has_its_remedies(behind: Any) -> None:
    behind.announce("edge-1", 10, hooks=1, hook_offset=4, hook_attempts=1, hook_error="connection refused")
    (trouble,) = behind.row("edge-1").troubles
    commands = [remedy.command for remedy in trouble.remedies]
    assert commands == ["callboard retry edge-1 4", "callboard skip edge-1 4 --reason TEXT"]


@pytest.mark.parametrize("state", [State.STOPPED, State.GAP])
def test_a_remedy_starts_a_subscriber_with_its_former_options(behind: Any, state: State) -> None:
    behind.announce(
        "edge 1", 5, state, editable=True, follows=("site", "n w"), include=("/b/**",), exclude=("*.tmp",),
        golden="edge-0", max_retries=3, reason="so",
    )  # fmt: skip
    remedies = [remedy.command for trouble in behind.row("edge 1").troubles for remedy in trouble.remedies]
    (command,) = [command for command in remedies if " run subscriber " in command and "edge 1" in command]
    assert command.removesuffix(" --on-gap earliest") == (
        "callboard run subscriber 'edge 1' --into /srv/www --follow site --follow 'n w' --include '/b/**' "
        "--exclude '*.tmp' --editable --golden edge-0 --max-retries 3"
    )


def test_a_subscriber_stopped_with_a_pending_hook_is_started_with_that_hook(behind: Any) -> None:
    behind.announce("edge-1", 10, State.STOPPED, hooks=1)
    (trouble,) = behind.row("edge-1").troubles
    assert "add the --after-import that it had" in trouble.remedies[0].does


def test_a_blocked_or_throttled_publisher_needs_attention(behind: Any) -> None:
    behind.announce("edge-1", 5, State.BLOCKED, reason="damaged")
    held_up = ThrottledMessage(
        publisher="news", publisher_instance="p2", subscriber="edge-1", backlog=1500, waiting=2, time_ns=behind.now_ns
    )
    behind.write(TOPICS.discovery, held_up)
    news, site = behind.status().publishers
    assert (news.name, news.needs, site.name, site.needs) == ("news", True, "site", True)
    assert "held up by edge-1" in news.troubles[0].what
    assert site.troubles[0].what == "its packages are blocked at edge-1"


def test_a_pause_that_delays_nothing_is_reported_but_needs_no_attention(behind: Any) -> None:
    behind.announce("edge-1", 10, State.PAUSED, reason="paused by kim")
    row = behind.row("edge-1")
    assert (row.needs, row.troubles[0].what) == (False, "paused by kim")


def test_the_queue_shows_the_same_troubles(behind: Any) -> None:
    behind.announce("edge-1", 5, State.PAUSED, reason="paused by kim; callboard resume edge-1")
    view = behind.simulation.run(queue(behind.context, "edge-1"))
    assert [(trouble.what, trouble.remedies[0].command) for trouble in view.troubles] == [
        ("paused by kim", "callboard resume edge-1")
    ]


def test_the_metrics_show_which_subscribers_need_attention(behind: Any) -> None:
    behind.announce("edge-1", 5, State.PAUSED, reason="paused by kim")
    behind.announce("edge-2", 10)
    view: BoardStatus = behind.status()
    lines = exposed(board_metrics(view, {}, {})).splitlines()
    assert 'callboard_subscriber_needs{subscriber="edge-1"} 1.0' in lines
    assert 'callboard_subscriber_needs{subscriber="edge-2"} 0.0' in lines
    assert 'callboard_publisher_needs{publisher="site"} 0.0' in lines
