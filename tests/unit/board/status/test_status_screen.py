"""A fleet with every kind of trouble, explained on one screen."""

import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from callboard.board.envelope import written
from callboard.board.read.status.retention_forecast import RetentionForecast
from callboard.board.read.status.selection import Selection, Sort, totals
from callboard.board.views import BoardStatus
from callboard.cli.app import app
from callboard.cli.status.status_screen import ALL, Screen
from callboard.errors import RequestRefused
from callboard.messages.distribution.topic_messages import State, Status, ThrottledMessage
from callboard.messages.topics import Topics
from callboard.units import age
from tests.refused import refused

PAUSED = "paused by kim: maintenance of the array; callboard resume paused-1"
TOPICS = Topics.with_prefix()
GOLDEN = Path(__file__).with_name("status_screen.txt")


def rendered(
    view: BoardStatus,
    *left: RetentionForecast,
    width: int = 100,
    height: int = 0,
    colours: bool = False,
    selection: Selection = ALL,
) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, height=height or 25, force_terminal=colours, no_color=not colours, markup=False
    )
    console.print(Screen(view, left, selection, fit=height > 0))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


@pytest.fixture
def troubled(board: Any) -> Any:
    """One subscriber with each kind of trouble, and two healthy ones."""
    for number in range(10):
        board.package(path=f"/blog/{number}")
    board.announce("gone-1", 4, State.IMPORTING, since_s=5)
    board.pass_time(2 * 3600)
    board.announce("left-1", 8, State.STOPPED, since_s=5)
    board.announce("silent-1", 7, State.IMPORTING, since_s=60)
    for number in range(3):
        board.package("news", f"/news/{number}", 1_200_000)
    board.pass_time(240)
    now = board.now_ns
    board.announce("edge-1", 13, imported=13)
    board.announce("edge-2", 13, editable=True, imported=12, superseded=1, ready=True, ready_reason="idle")
    board.announce(
        "blocked-1", 5, State.BLOCKED, editable=True, since_s=230, attempts=1, head_offset=6, head_package="p-6",
        reason="its content is not what its digest says: expected 5f2c, got 9a81",
        last_error="its content is not what its digest says: expected 5f2c, got 9a81",
    )  # fmt: skip
    board.announce(
        "golden-1", 8, State.RETRYING, editable=True, since_s=31, attempts=4, head_offset=9, max_retries=9,
        next_try_ns=now + 14 * 10**9, last_error="[Errno 28] No space left on device",
        reason="attempt 4 failed: [Errno 28] No space left on device",
    )  # fmt: skip
    board.announce("staged-1", 8, State.STAGED, since_s=31, golden="golden-1", head_offset=9)
    board.announce("slow-1", 11, State.THROTTLED, since_s=12, throttle_per_min=30, head_offset=12)
    board.announce("paused-1", 10, State.PAUSED, since_s=3000, reason=PAUSED)
    board.announce("holds-1", 13, on_give_up="quarantine", held=2, max_retries=3)
    board.announce("gap-1", -1, State.GAP, since_s=90, reason="the log begins at 3, and 1 is the next package")
    board.announce("waits-1", 12, State.WAITING, since_s=8, reason="the repository cannot be opened: disk I/O error")
    board.tell("holds-1", 2, Status.HELD, "not a directory: /news", attempts=4)
    board.tell("holds-1", 3, Status.HELD, "not a directory: /news", attempts=4)
    board.tell("edge-1", 4, Status.REMOVED_FAILED, "file name too long", attempts=1)
    board.tell("edge-1", 5, Status.HOOK_FAILED, "purge: connection refused", attempts=3)
    board.pass_time(2)
    return board


@pytest.mark.proves("F42", "F44", "F45", "F55", "F58", "W26", "W29")
def test_the_status_screen_matches_the_golden_file(troubled: Any) -> None:
    assert rendered(troubled.status(), RetentionForecast("blocked-1", 3 * 3600, soon=True)) == GOLDEN.read_text()


def test_no_line_is_wider_than_the_terminal_and_no_command_is_broken(troubled: Any) -> None:
    view = troubled.status()
    lines = rendered(view).splitlines()
    assert max(map(len, lines)) <= 100
    commands = {remedy.command for row in view.subscribers for trouble in row.troubles for remedy in trouble.remedies}
    shown = {line.strip().partition("  ")[0].removeprefix("$ ") for line in lines if line.strip().startswith("$ ")}
    assert commands == shown


def test_a_narrow_terminal_shows_each_command_in_one_piece_with_its_effect_below(board: Any) -> None:
    board.package()
    board.announce("edge-with-a-long-name", 0, State.PAUSED, reason="paused by kim")
    lines = rendered(board.status(), width=50).splitlines()
    at = lines.index("  $ callboard resume edge-with-a-long-name")
    assert lines[at + 1] == "      ends the pause"
    wide = rendered(board.status(), width=80).splitlines()
    assert "  $ callboard resume edge-with-a-long-name  ends the pause" in wide


def test_colours_are_used_only_on_a_terminal(troubled: Any) -> None:
    view = troubled.status()
    assert "\x1b[" not in rendered(view)
    assert "\x1b[1;31mblocked" in rendered(view, colours=True)


def test_the_json_contains_everything(troubled: Any) -> None:
    data = json.loads(written(troubled.status()))
    rows = {row["name"]: row for row in data["subscribers"]}
    assert rows["golden-1"]["troubles"][0]["remedies"][0]["command"] == "callboard retry golden-1"
    assert rows["golden-1"]["next_try_s"] == pytest.approx(12, abs=0.5)
    assert rows["holds-1"]["held"] == 2
    assert {each["name"] for each in data["publishers"]} == {"news", "site"}


def test_a_healthy_fleet_needs_no_explanation(board: Any) -> None:
    board.package()
    board.announce("edge-1", 1)
    assert board.row("edge-1").troubles == ()
    lines = rendered(board.status()).splitlines()
    assert (lines[0], len(lines)) == ("1 subscriber: 1 idle", 6)


@pytest.mark.proves("F17")
def test_a_throttled_publisher_shows_the_subscriber_the_time_and_the_number_of_requests(board: Any) -> None:
    for _ in range(15):
        board.package()
    board.announce("edge-1", 0)
    held_up = ThrottledMessage(
        publisher="site", publisher_instance="p1", subscriber="edge-1", backlog=15, waiting=2, delay_ms=12_000,
        since_ns=board.now_ns - 180 * 10**9, time_ns=board.now_ns,
    )  # fmt: skip
    board.write(TOPICS.discovery, held_up)
    (line,) = [line for line in rendered(board.status(), width=140).splitlines() if "held up" in line]
    told = "held up 3 min by edge-1, 15 packages behind; 2 requests wait, the first for 12 s more"
    assert " ".join(line.split()) == told


def test_an_empty_board_says_how_to_begin(board: Any) -> None:
    assert "callboard run subscriber NAME --into DIR" in rendered(board.status())


def test_skip_is_not_suggested_for_a_subscriber_that_refuses_it(board: Any) -> None:
    board.package()
    for editable in (True, False):
        board.announce("edge-1", 0, State.RETRYING, editable=editable, attempts=1, reason="no space")
        assert ("callboard skip edge-1" in rendered(board.status())) is editable


def test_every_remedy_is_an_existing_command(troubled: Any) -> None:
    group: Any = typer.main.get_command(app)
    for row in troubled.status().subscribers:
        for trouble in row.troubles:
            for remedy in trouble.remedies:
                words = remedy.command.split()[1:]
                context = typer.Context(group)
                command = group
                while hasattr(command, "commands"):
                    assert words[0] in command.commands, remedy.command
                    command = command.commands[words.pop(0)]
                command.make_context("", words, parent=context)


def test_suggested_commands_can_be_typed_as_they_are(board: Any) -> None:
    board.package()
    board.announce("edge of town", -1, State.GAP, reason="trimmed")
    commands = [remedy.command for trouble in board.row("edge of town").troubles for remedy in trouble.remedies]
    typed = shlex.split(next(command for command in commands if "run" in command))
    assert typed == ["callboard", "run", "subscriber", "edge of town", "--into", "/srv/www", "--on-gap", "earliest"]


@pytest.fixture
def sixty(board: Any) -> Any:
    """Sixty subscribers, of which the last ones need attention."""
    board.package()
    for number in range(55):
        board.announce(f"edge-{number:02}", 1)
    for number in range(55, 60):
        board.announce(f"edge-{number:02}", 0, State.BLOCKED, reason="its digest differs", head_offset=1)
    return board


@pytest.mark.parametrize("height", [8, 12, 24, 40, 61, 100])
@pytest.mark.parametrize("width", [50, 80, 120])
def test_a_small_screen_shows_subscribers_that_need_attention_first(sixty: Any, height: int, width: int) -> None:
    lines = rendered(sixty.status(), width=width, height=height).splitlines()
    assert len(lines) < height
    assert " ".join(lines[:2]).startswith("60 subscribers, 5 in need of attention: 55 idle, 5 blocked")
    assert next(line for line in lines if line.startswith("edge-")).startswith("edge-55     blocked")
    if width > 50:
        shown = [line for line in lines if line.startswith("edge-") and "2 s" not in line and "has been" not in line]
        assert f"and {60 - len(shown)} more" in lines or len(shown) == 60


def test_subscribers_without_room_on_the_screen_are_counted(sixty: Any) -> None:
    lines = rendered(sixty.status(), height=24).splitlines()
    assert sum(line.startswith("edge-") and " has been " in line for line in lines) == 2
    assert "and the details of 3 more: callboard status --needs" in lines


def test_the_subscribers_shown_and_their_order_can_be_chosen(troubled: Any) -> None:
    rows = troubled.status().subscribers

    def chosen(**selection: Any) -> list[str]:
        return [row.name for row in Selection(**selection).of(rows)]

    assert chosen()[0] == "blocked-1"
    assert chosen(sort=Sort.NAME) == sorted(row.name for row in rows)
    assert chosen(sort=Sort.LAG)[0] == "gap-1"
    assert chosen(sort=Sort.SEEN)[0] == "gone-1"
    assert chosen(names=("edge-*", "gap-1"), sort=Sort.NAME) == ["edge-1", "edge-2", "gap-1"]
    assert chosen(states=("paused", "gone"), sort=Sort.STATE) == ["gone-1", "paused-1"]
    assert "edge-2" not in chosen(needs=True)
    assert chosen(names=("edge-2",), needs=True) == []
    with refused("unknown_name"):
        chosen(names=("edge-9",))
    with pytest.raises(RequestRefused, match="'stuck' is not a state"):
        chosen(states=("stuck",))


def test_a_selection_hides_no_total(troubled: Any) -> None:
    view = troubled.status()
    assert totals(view.subscribers)["subscribers"] == 13
    lines = rendered(view, selection=Selection(names=("edge-2",))).splitlines()
    assert lines[0].startswith("13 subscribers, ")
    assert [line.split()[0] for line in lines if line.startswith("edge-")] == ["edge-2"]


def test_ages_are_never_negative_when_clocks_differ() -> None:
    assert age(-3.7) == "0 s"
