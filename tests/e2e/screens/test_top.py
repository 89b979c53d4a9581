"""``callboard top`` on real terminals: what is on the screen, what keys do, and what it leaves behind."""

import asyncio
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration
from callboard.messages.headers import new_record
from tests.e2e.conftest import Terminal
from tests.e2e.screens.pty_screen import PtyScreen

MANY = 40
ODD = "e\x9b2J\u202e\u2066\u200b[bold]"
SMALL, LARGE = (80, 24), (200, 50)
LEFT_THE_SCREEN = b"\x1b[?25h\x1b[?1049l"

Start = Callable[..., PtyScreen]


@pytest.fixture
def start(terminal: Terminal) -> Iterator[Start]:
    """Starts it on a terminal of this size."""
    started: list[PtyScreen] = []

    def on(size: tuple[int, int], *words: str) -> PtyScreen:
        started.append(PtyScreen(terminal.folder, *size, "top", "--interval", "0.3", *words))
        return started[-1]

    yield on
    for each in started:
        each.close()


async def announce(folder: Path, *names: str) -> None:
    """Subscribers that have announced themselves, of which the second is blocked."""
    async with Callboard(base=folder) as board:
        topics = board.settings.topics
        log_id, now_ns = await board.log.identity(topics.package), time.time_ns()
        for number, name in enumerate(names):
            said = DiscoveryMessage(
                subscriber_instance=f"i{number}", subscriber=name, state=State.BLOCKED if number == 1 else State.IDLE,
                configuration=SubscriberConfiguration(editable=True, max_retries=-1), log_id=log_id, offset=-1,
                reason="no room" if number == 1 else "", time_ns=now_ns, since_ns=now_ns,
                announce_interval_ms=3_600_000,
            )  # fmt: skip
            record = new_record(said, record_id=f"r{number}", time_ns=now_ns, producer="test")
            await board.log.append(topics.discovery, [record])


async def add_jobs(folder: Path, many: int) -> None:
    async with Callboard(base=folder) as board:
        for number in range(many):
            await board.jobs.configure(f"queue-{number:02}", [f"topic{number}"])
            for _ in range(number + 1):
                await board.jobs.add(f"topic{number}")


def shows(*words: str) -> Callable[[list[str]], bool]:
    return lambda lines: all(any(word in line for line in lines) for word in words)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_it_fits_the_terminal_and_counts_what_does_not(terminal: Terminal, start: Start, size: tuple[int, int]) -> None:
    asyncio.run(announce(terminal.folder, *(f"edge-{n:02}" for n in range(MANY))))
    asyncio.run(add_jobs(terminal.folder, 20))
    top = start(size)
    lines = top.until(shows("q quits", "queue-19"))
    assert re.fullmatch(r"callboard top   \./board\.db   as of \d\d:\d\d:\d\d UTC", lines[0])
    assert lines[1] == "40 subscribers, 1 in need of attention: 39 idle, 1 blocked"
    assert lines[2].split() == ["SUBSCRIBER", "STATE", "LAG", "BEHIND", "A", "MINUTE", "ERRORS", "HELD", "SEEN"]
    assert lines[3].startswith("edge-01 ")
    assert "blocked" in lines[3]
    assert lines[-1].startswith("q quits"), "all of the terminal is used, and no more"
    for kind, many in (("edge-", MANY), (("queue-", "main "), 20 + 1)):
        shown = [line for line in lines if line.startswith(kind)]
        more = next((line for line in lines[lines.index(shown[-1]) :] if line.startswith("and ")), "and 0 more")
        assert len(shown) + int(more.split()[1]) == many
    queues = [int(line.split()[1]) for line in lines if line.startswith("queue-")]
    assert queues == sorted(queues, reverse=True)


def test_it_is_drawn_again_when_the_size_changes(terminal: Terminal, start: Start) -> None:
    asyncio.run(announce(terminal.folder, "edge-" + "x" * 60, *(f"edge-{n:02}" for n in range(MANY))))
    top = start(LARGE)
    top.until(shows("q quits", "edge-39", "x" * 60))
    top.resize(60, 10)
    lines = top.until(lambda lines: lines[-1].startswith("q quits"))
    assert any(re.match(r"and \d\d more", line) for line in lines)
    assert not [line for line in lines if line.startswith("x")], "a long name is cut, and takes one line"
    top.resize(*SMALL)
    top.until(lambda lines: lines[-1].startswith("q quits") and len(lines) == SMALL[1])


def test_keys_choose_what_is_shown_and_q_leaves_the_terminal_as_it_was(terminal: Terminal, start: Start) -> None:
    asyncio.run(announce(terminal.folder, "edge-0", "edge-1"))
    asyncio.run(add_jobs(terminal.folder, 2))
    top = start(SMALL)
    top.until(shows("edge-0", "queue-00"))
    top.press("j")
    top.until(lambda lines: shows("queue-00")(lines) and not shows("edge-0")(lines))
    top.press("f")
    top.until(lambda lines: shows("edge-0")(lines) and not shows("queue-00")(lines))
    top.press("f", " ")
    first = top.until(shows("edge-0", "queue-00", "paused"))[0]
    asyncio.run(announce(terminal.folder, "edge-0", "edge-1", "edge-2"))
    top.press("?", "\x1b[A", "é")
    assert top.until(shows("edge-1", "queue-00"))[0] == first, "it is paused, and other keys do nothing"
    top.press(" ")
    assert "paused" not in top.until(shows("edge-2"))[0]
    top.press("q")
    assert top.end() == 0
    assert top.written.endswith(LEFT_THE_SCREEN)
    assert top.modes_now == top.modes


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_leaves_the_terminal_as_it_was(start: Start, number: signal.Signals, code: int) -> None:
    top = start(SMALL)
    top.until(shows("q quits", "no subscriber has announced itself yet"))
    top.process.send_signal(number)
    assert top.end() == code
    assert LEFT_THE_SCREEN in top.written
    assert top.modes_now == top.modes
    assert b"Traceback" not in top.written


def test_it_shows_what_is_done_in_a_minute(terminal: Terminal, start: Start) -> None:
    top = start(SMALL)
    terminal.start("run", "subscriber", "edge", "--into", "out")
    top.until(shows("edge"))
    for _ in range(3):
        terminal.run("publish", "site")

    def rate(lines: list[str]) -> bool:
        row = next((line for line in lines if line.startswith("edge ")), "")
        return bool(re.match(r"edge +idle +0 +[1-9]\d* ", row))

    top.until(rate)


def test_a_log_that_is_away_is_said_and_what_comes_in_its_place_is_shown(terminal: Terminal, start: Start) -> None:
    asyncio.run(announce(terminal.folder, "edge-0", "edge-1"))
    top = start(SMALL)
    top.until(shows("edge-0"))
    log = terminal.folder / "board.db"
    log.rename(terminal.folder / "away.db")
    lines = top.until(shows("cannot be read since"))
    assert re.match(r"cannot be read since \d\d:\d\d:\d\d UTC:", lines[1])
    assert any(line.startswith("edge-0 ") for line in lines), "the figures of before stay"
    (terminal.folder / "away.db").rename(log)
    top.until(lambda lines: not shows("cannot be read")(lines))
    shutil.move(log, terminal.folder / "old.db")
    terminal.run("init")
    asyncio.run(announce(terminal.folder, "other-0", "other-1"))
    top.until(lambda lines: shows("other-0")(lines) and not shows("cannot be read")(lines))
    top.press("q")
    assert top.end() == 0


def test_text_of_others_does_not_reach_the_terminal(terminal: Terminal, start: Start) -> None:
    asyncio.run(announce(terminal.folder, ODD, f"a{ODD}"))
    top = start(LARGE)
    top.until(shows("e\\u009b2J\\u202e\\u2066\\u200b[bold]"))
    for each in ("\x9b".encode(), "\u202e".encode(), "\u2066".encode(), "\u200b".encode()):
        assert each not in top.written


def test_without_a_board_it_says_so_and_draws_nothing(newcomer: Terminal, start: Start) -> None:
    shutil.rmtree(newcomer.folder / "board.db")
    top = start(SMALL)
    assert top.end() == 2
    assert shows("there is no log at ./board.db yet")(top.lines)
    assert top.modes_now == top.modes


def test_without_a_terminal_all_of_it_is_printed_once(terminal: Terminal) -> None:
    asyncio.run(announce(terminal.folder, *(f"edge-{n:02}" for n in range(MANY))))
    lines = terminal.out("top").splitlines()
    assert len([line for line in lines if line.startswith("edge-")]) == MANY
    assert terminal.out("top", "--once").splitlines()[1:3] == lines[1:3]
    assert "\x1b" not in "".join(lines)
    assert "q quits" not in "".join(lines)
