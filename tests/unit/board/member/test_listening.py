"""Every listener is told the topology by one grammar: INIT (PROPERTIES_CHANGED | CHANGING CHANGED)* CHANGING?"""

from itertools import pairwise
from typing import Any

import pytest

from callboard.board.member.listening import Listening
from callboard.board.member.topology_view import TopologyEvent, TopologyEventKind, TopologyView
from callboard.errors import RequestRefused
from callboard.messages.topology.cluster_state import Health
from tests.unit.board.member.views import alone, view

INIT, CHANGING, CHANGED, PROPERTIES = TopologyEventKind
RED = {"a": {"properties": {"colour": "red"}}}


class Told:
    """Drives ``Listening`` and keeps what each listener was told, as ``init 1``, ``changing 1``, ``changed 1-2``."""

    def __init__(self, delay_ms: int = 0) -> None:
        self.listening, self.now_ms = Listening(alone(), delay_ms), 0
        self.events: dict[object, list[TopologyEvent]] = {}
        self.slow: set[object] = set()

    def bind(self, *names: str, **how: Any) -> None:
        for name in names:
            self.listening.bind(name, **how)
        self.deliver()

    def agree(self, seen: TopologyView) -> None:
        self.listening.observe(seen, self.now_ms, agreed=True)
        self.deliver()

    def change(self, seen: TopologyView | None = None) -> None:
        self.listening.observe(seen, self.now_ms, agreed=False)
        self.deliver()

    def passes(self, ms: int) -> None:
        self.now_ms += ms
        self.listening.tick(self.now_ms)
        self.deliver()

    def deliver(self) -> None:
        while due := self.listening.due(self.now_ms):
            for name, event in due:
                self.events.setdefault(name, []).append(event)
                if name not in self.slow:
                    self.listening.returned(name, event)

    def returns(self, name: str, call: int = -1) -> None:
        self.listening.returned(name, self.events[name][call])
        self.deliver()

    def to(self, name: str) -> str:
        """What it was told, with the epochs of the old and the new view."""
        return ", ".join(
            f"{event.kind.removeprefix('topology_')} "
            + "-".join(str(each.epoch) for each in (event.old, event.new) if each)
            for event in self.events.get(name, [])
        )


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.mark.proves("T16")
def test_the_first_event_is_the_first_agreed_view(told: Told) -> None:
    told.bind("x")
    assert told.to("x") == ""
    told.change(view("a*b", 1))
    assert told.to("x") == ""
    told.agree(view("a*b", 1))
    assert told.to("x") == "init 1"


@pytest.mark.proves("T21")
def test_a_late_listener_is_told_at_once_if_nothing_changes(told: Told) -> None:
    told.agree(view(epoch=1))
    told.bind("x")
    assert told.to("x") == "init 1"


@pytest.mark.proves("T21")
def test_a_listener_that_comes_during_a_change_is_told_its_end_after_the_older_ones(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view(epoch=2))
    told.bind("y")
    assert told.to("y") == ""
    told.listening.observe(view(epoch=2), 0, agreed=True)
    assert [name for name, _ in told.listening.due(0)] == ["x", "y"]


@pytest.mark.proves("T16", "T22", "T23")
def test_a_listener_is_bound_once_and_unbound_once(told: Told) -> None:
    told.agree(view(epoch=1))
    assert told.listening.bind("x")
    assert not told.listening.bind("x")
    told.deliver()
    assert told.to("x") == "init 1"
    assert told.listening.unbind("x")
    assert not told.listening.unbind("x")
    told.agree(view(epoch=2))
    assert told.to("x") == "init 1"


@pytest.mark.proves("T17")
def test_a_change_is_bracketed_and_changing_is_not_repeated(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view(epoch=2))
    told.change(view(epoch=3))
    told.change()
    told.agree(view(epoch=3))
    assert told.to("x") == "init 1, changing 1, changed 1-3"


@pytest.mark.proves("T17", "T56")
def test_an_agreed_view_that_comes_unannounced_is_bracketed_too(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.agree(view(epoch=2))
    assert told.to("x") == "init 1, changing 1, changed 1-2"


@pytest.mark.proves("T27")
def test_a_change_is_closed_even_if_the_view_is_the_same_again(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.change()
    told.agree(view(epoch=1))
    assert told.to("x") == "init 1, changing 1, changed 1-1"


@pytest.mark.proves("T19")
def test_properties_alone_are_told_without_a_bracket(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.agree(view(epoch=1, traits=RED))
    assert told.to("x") == "init 1, properties_changed 1-1"
    assert told.listening.view.local_instance.properties == {"colour": "red"}


@pytest.mark.proves("T18")
def test_properties_that_change_with_the_members_are_told_in_the_same_event(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view("a*b", 2, traits=RED))
    told.agree(view("a*b", 2, traits=RED))
    assert told.to("x") == "init 1, changing 1, changed 1-2"


def test_health_and_load_are_no_event_but_are_shown(told: Told) -> None:
    told.bind("x")
    told.agree(view(epoch=1))
    before = told.listening.view
    told.agree(view(epoch=1, traits={"a": {"health": Health.POOR}}))
    assert told.to("x") == "init 1"
    assert told.listening.view.local_instance.health is Health.POOR
    assert before.is_current
    told.change()
    assert not before.is_current


def test_the_old_view_is_the_one_that_this_listener_was_given_last(told: Told) -> None:
    told.bind("x")
    for epoch in (1, 2, 3):
        told.change(view(epoch=epoch))
        told.agree(view(epoch=epoch))
    events = told.events["x"]
    for before, after in pairwise(events):
        assert after.old is (before.new or before.old)


@pytest.mark.proves("T12", "T13")
def test_while_it_changes_the_last_view_is_shown_as_not_current(told: Told) -> None:
    assert told.listening.view.epoch == -1
    assert not told.listening.view.is_current
    told.bind("x")
    told.agree(view(epoch=1))
    assert told.listening.view.is_current
    told.change(view(epoch=2))
    former = told.listening.view
    assert former is told.events["x"][-1].old
    assert not former.is_current
    told.agree(view(epoch=1))
    assert told.listening.view.is_current
    assert not former.is_current, "it is never current again"


@pytest.mark.proves("T24")
def test_a_slow_listener_delays_no_one_else_and_misses_what_is_over(told: Told) -> None:
    told.slow = {"slow"}
    told.bind("slow", "quick")
    told.agree(view(epoch=1))
    for epoch in (2, 3, 4):
        told.change(view(epoch=epoch))
        told.agree(view(epoch=epoch))
    told.agree(view(epoch=4, traits=RED))
    assert told.to("slow") == "init 1"
    assert told.to("quick").endswith("changed 3-4, properties_changed 4-4")
    for _ in range(3):
        told.returns("slow")
    assert told.to("slow") == "init 1, changing 1, changed 1-4"
    assert told.events["slow"][-1].new.local_instance.properties == {"colour": "red"}  # type: ignore[union-attr]


def test_a_listener_that_was_added_again_is_busy_until_it_returns_from_what_it_was_told_last(told: Told) -> None:
    told.slow = {"x"}
    told.bind("x")
    told.agree(view("a*b", 1))
    told.listening.unbind("x")
    told.bind("x")
    assert told.to("x") == "init 1, init 1"
    told.change(view("a*b", 2))
    told.returns("x", call=0)
    assert told.to("x") == "init 1, init 1"
    assert not told.listening.may_acknowledge
    told.returns("x")
    assert told.to("x") == "init 1, init 1, changing 1"


def test_a_change_that_a_slow_listener_missed_is_told_even_if_the_view_is_the_same(told: Told) -> None:
    told.slow = {"slow"}
    told.bind("slow")
    told.agree(view(epoch=1))
    told.change()
    told.agree(view(epoch=1))
    told.slow.clear()
    told.returns("slow")
    assert told.to("slow") == "init 1, changing 1, changed 1-1"


@pytest.mark.proves("T32")
def test_the_view_is_acknowledged_once_all_critical_listeners_have_returned_from_changing(told: Told) -> None:
    assert told.listening.may_acknowledge, "a member that was told nothing acts by nothing"
    told.slow = {"x", "idle"}
    told.bind("x")
    told.bind("idle", critical=False)
    told.agree(view(epoch=1))
    told.returns("x")
    assert not told.listening.may_acknowledge
    told.listening.observe(view(epoch=2), 0, agreed=False)
    assert not told.listening.may_acknowledge, "the listener knows of nothing yet"
    told.deliver()
    assert told.to("x") == "init 1, changing 1"
    assert not told.listening.may_acknowledge
    told.returns("x")
    assert told.listening.may_acknowledge
    told.change(view(epoch=3))
    assert told.listening.may_acknowledge


@pytest.mark.proves("T32")
def test_a_listener_that_still_handles_an_earlier_event_delays_the_acknowledgement(told: Told) -> None:
    told.slow = {"x"}
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view(epoch=2))
    assert told.to("x") == "init 1"
    assert not told.listening.may_acknowledge
    told.returns("x")
    assert not told.listening.may_acknowledge
    told.returns("x")
    assert told.listening.may_acknowledge


# The window in which changes are told as one.


@pytest.mark.proves("T28")
def test_changes_within_the_window_are_told_as_one_and_the_first_at_once() -> None:
    told = Told(delay_ms=1000)
    told.bind("x")
    told.agree(view(epoch=1))
    for epoch in (2, 3, 4):
        told.change(view(epoch=epoch))
        told.agree(view(epoch=epoch))
        told.passes(300)
    assert told.to("x") == "init 1, changing 1"
    assert told.listening.wake_ms(told.now_ms) == 1000
    told.passes(99)
    assert told.to("x") == "init 1, changing 1"
    told.passes(1)
    assert told.to("x") == "init 1, changing 1, changed 1-4"
    assert told.listening.wake_ms(told.now_ms) is None


@pytest.mark.proves("T28")
def test_the_window_is_repeated_if_nothing_is_agreed_at_its_end() -> None:
    told = Told(delay_ms=1000)
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view(epoch=2))
    told.passes(1000)
    told.agree(view(epoch=2))
    assert told.to("x") == "init 1, changing 1"
    told.passes(1000)
    assert told.to("x") == "init 1, changing 1, changed 1-2"


@pytest.mark.proves("T30")
def test_a_window_whose_timer_never_fires_ends_with_the_next_news() -> None:
    told = Told(delay_ms=1000)
    told.bind("x")
    told.agree(view(epoch=1))
    told.change(view(epoch=2))
    told.now_ms = 5000
    told.agree(view(epoch=2))
    assert told.to("x") == "init 1, changing 1, changed 1-2"


@pytest.mark.proves("T19", "T29")
def test_the_first_view_and_properties_and_a_change_to_the_same_are_not_delayed() -> None:
    told = Told(delay_ms=1000)
    told.bind("x")
    told.agree(view(epoch=1))
    told.agree(view(epoch=1, traits=RED))
    told.change()
    told.agree(view(epoch=1, traits=RED))
    assert told.to("x") == "init 1, properties_changed 1-1, changing 1, changed 1-1"


# A listener that begins later.


@pytest.mark.proves("T37")
def test_a_delayed_listener_begins_with_the_newest_view(told: Told) -> None:
    told.bind("x", not_before_ms=500)
    told.agree(view(epoch=1))
    told.agree(view(epoch=2))
    assert told.to("x") == ""
    assert told.listening.wake_ms(0) == 500
    told.change(view(epoch=3))
    told.passes(500)
    assert told.to("x") == ""
    told.agree(view(epoch=3))
    assert told.to("x") == "init 3"
    told.change(view(epoch=4))
    assert told.to("x") == "init 3, changing 3"


@pytest.mark.proves("T37")
def test_a_delayed_listener_that_is_removed_before_it_begins_is_told_nothing(told: Told) -> None:
    told.bind("x", not_before_ms=500)
    told.agree(view(epoch=1))
    assert told.listening.unbind("x")
    told.passes(500)
    assert told.to("x") == ""


# The payload of an event.


@pytest.mark.proves("T20")
@pytest.mark.parametrize("kind", TopologyEventKind)
def test_an_event_has_the_views_of_its_kind_and_no_others(kind: TopologyEventKind) -> None:
    over, now = view(epoch=1), view(epoch=2)
    over.validity.ended = True
    right = {INIT: (None, now), CHANGING: (over, None), CHANGED: (over, now), PROPERTIES: (over, now)}[kind]
    TopologyEvent(kind, *right)
    for old in (None, over, now):
        for new in (None, over, now):
            if (old, new) != right:
                with pytest.raises(RequestRefused, match=r"wrong views|no longer current"):
                    TopologyEvent(kind, old, new)
