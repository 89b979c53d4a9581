"""Which packages a clear takes, for any part of the log that is known when it is sent."""

import asyncio
from typing import Any

import pytest

from callboard.actors.publisher import roles
from callboard.board.command import clearing
from callboard.board.views import CommandResult
from callboard.errors import LogUnavailable, NotAnswered
from callboard.messages.distribution.fleet_mail import CommandRequest, CommandSent
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import CommandResultMessage, Kind, PackageMessage, State
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

MANY = 12_000
"""More than are read before the first answer where a read takes as long as here."""
READ_S = 0.05


@pytest.fixture
def long_queue(board: Any) -> Any:
    """A board whose publisher has just started, and must read long before it has counted the queue of edge-1."""
    message = PackageMessage(publisher_instance="p1", publisher="site", package_id="p", kind=Kind.ADD, paths=("/a",))
    records = [new_record(message, record_id=f"p{n}", time_ns=0, producer="test") for n in range(MANY)]
    board.simulation.run(board.log.append(board.topics.package, records))
    board.announce("edge-1", 0, editable=True)
    slow_down(board)
    board.start()
    return board


def slow_down(board: Any) -> None:
    """Packages take their time to be read."""
    read = board.log.read

    async def slow(topic: str, *args: Any, **kwargs: Any) -> Any:
        if topic == board.topics.package:
            await asyncio.sleep(READ_S)
        return await read(topic, *args, **kwargs)

    board.log.read = slow


def clear(board: Any, **said: Any) -> CommandResult:
    return board.simulation.run(clearing.clear(board.context, "edge-1", **said))  # type: ignore[no-any-return]


def test_clearing_the_first_packages_takes_no_more_even_before_the_queue_is_counted(long_queue: Any) -> None:
    assert clear(long_queue, first=700).offset == 700


def test_a_clear_that_cannot_determine_its_packages_in_time_sends_no_command(long_queue: Any) -> None:
    with pytest.raises(NotAnswered, match="could not be counted within 1 s; try again"):
        clear(long_queue, first=700, timeout_s=1)
    assert long_queue.simulation.run(long_queue.log.read(long_queue.topics.command, 1)) == []


def test_a_clear_includes_everything_published_before_it(board: Any) -> None:
    board.announce("edge-1", 0, editable=True)
    slow_down(board)
    board.start()
    for _ in range(10):
        offset = board.package()
        assert clear(board, timeout_s=1).offset == offset


def test_clearing_all_is_sent_although_a_subscriber_has_caught_up_meanwhile(board: Any) -> None:
    for name in ("edge-1", "edge-2"):
        board.announce(name, 0, editable=True)
    newest = [board.package() for _ in range(3)][-1]
    done: list[NewRecord] = []

    async def hold(_: str, records: list[NewRecord]) -> list[int]:
        done.extend(records)
        return [0]

    board.log.append = hold
    board.announce("edge-1", newest, editable=True)
    del board.log.append
    board.start()
    ask = board.agent.ask

    async def asked(role: str, *args: Any) -> Any:
        answer = await ask(role, *args)
        if role == roles.QUEUE_CACHE:
            await board.log.append(board.topics.discovery, done)
        return answer

    board.agent.ask = asked
    results = board.simulation.run(clearing.clear_all(board.context, timeout_s=5))
    assert [(result.subscriber, result.offset) for result in results] == [("edge-1", newest), ("edge-2", newest)]


def cohort_clear(board: Any, first: int, publisher: str = "") -> dict[str, int]:
    """By subscriber, the offset up to which it is cleared."""
    board.start()
    found = board.simulation.run(clearing.clear_all(board.context, publisher, first=first, timeout_s=1))
    return {result.subscriber: result.offset for result in found}


def test_the_first_packages_of_a_cohort_are_those_of_the_slowest_and_all_are_cleared_up_to_the_same_offset(
    board: Any,
) -> None:
    offsets = [board.package() for _ in range(6)]
    for name, done, editable in (("slow", 1, True), ("middle", 2, True), ("fast", 4, True), ("fixed", 0, False)):
        board.announce(name, offsets[done], editable=editable)
    assert cohort_clear(board, 1) == {"slow": offsets[2]}
    assert cohort_clear(board, 3) == {"slow": offsets[4], "middle": offsets[4]}
    assert cohort_clear(board, 99) == dict.fromkeys(("slow", "middle", "fast"), offsets[5])


def test_no_subscriber_skips_more_packages_than_were_to_be_cleared(board: Any) -> None:
    mine = [board.package(recipients=("edge-2",)) for _ in range(3)]
    ours = [board.package() for _ in range(2)]
    for name in ("edge-1", "edge-2"):
        board.announce(name, 0, editable=True)
    assert cohort_clear(board, 1) == {"edge-2": mine[0]}, "the other has nothing up to there"
    assert cohort_clear(board, 4) == {"edge-1": ours[0], "edge-2": ours[0]}


def test_a_stopped_subscriber_keeps_its_queue_when_the_first_packages_of_a_cohort_are_cleared(board: Any) -> None:
    offsets = [board.package() for _ in range(6)]
    board.announce("away", 0, State.STOPPED, editable=True)
    board.announce("here", offsets[3], editable=True)
    assert cohort_clear(board, 1) == {"here": offsets[4]}


def test_an_empty_cohort_has_nothing_to_clear(board: Any) -> None:
    board.announce("edge-1", board.package(), editable=True)
    assert cohort_clear(board, 1) == {}


class Accepted:
    """The agent's answers to commands: each takes a while, and is accepted; the one to edge-3 cannot be appended if the
    log is down.
    """

    at_once = at_once_max = given = 0
    down = False

    def __init__(self, agent: Any) -> None:
        self._ask, agent.ask = agent.ask, self.ask

    async def ask(self, role: str, question: Any, timeout_s: float) -> Any:
        if isinstance(question, CommandResultQuery):
            return CommandResultMessage(
                subscriber_instance="", subscriber="", command_id=question.command_id, command_offset=1, accepted=True
            )
        if not isinstance(question, CommandRequest):
            return await self._ask(role, question, timeout_s)
        self.at_once, self.given = self.at_once + 1, self.given + 1
        self.at_once_max = max(self.at_once_max, self.at_once)
        await asyncio.sleep(0)  # to the others
        self.at_once -= 1
        problem = "it is down" if self.down and question.command.subscriber == "edge-3" else ""
        return CommandSent(command_id=question.command.command_id, problem=problem)


@pytest.fixture
def five(board: Any, monkeypatch: pytest.MonkeyPatch) -> Accepted:
    monkeypatch.setattr("callboard.board.command.clearing.COMMANDS_AT_ONCE", 2)
    for number in range(1, 6):
        board.announce(f"edge-{number}", 0, editable=True)
    board.package()
    board.start()
    return Accepted(board.agent)


def test_clearing_all_bounds_the_number_of_concurrent_commands(board: Any, five: Accepted) -> None:
    results = board.simulation.run(clearing.clear_all(board.context))
    assert [(each.subscriber, each.offset) for each in results] == [(f"edge-{number}", 1) for number in range(1, 6)]
    assert five.at_once_max == 2


def test_clearing_all_sends_no_further_commands_after_a_failure(board: Any, five: Accepted) -> None:
    five.down = True
    with pytest.raises(LogUnavailable, match="it is down"):
        board.simulation.run(clearing.clear_all(board.context))
    given = five.given
    board.pass_time(60)
    assert (five.given, five.at_once) == (given, 0)
