"""One word for each state, in views, on the screen and in figures."""

from typing import get_args

from callboard.board.read.queues.queues import FAILED
from callboard.board.read.status.selection import STATES
from callboard.board.subscriber import STATUSES
from callboard.board.views import FailureStatus, QueueState
from callboard.cli.terminal.output import STYLES
from callboard.messages.distribution.topic_messages import State


def words(states: type[State]) -> set[str]:
    return {state.name.lower() for state in states}


def test_exactly_the_states_that_are_shown_have_a_colour() -> None:
    assert set(STYLES) == {*STATES, *get_args(QueueState)}


def test_a_queue_has_its_own_state_or_that_of_its_subscriber() -> None:
    assert set(get_args(QueueState)) - words(State) == {"running"}


def test_a_failure_has_the_same_name_in_the_error_queue_and_in_the_summary() -> None:
    assert set(FAILED.values()) == set(get_args(FailureStatus))
    assert set(STATUSES) == {*get_args(FailureStatus), "hook_due"}
