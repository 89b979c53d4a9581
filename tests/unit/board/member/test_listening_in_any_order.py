"""Whatever happens in whatever order, each listener is told by the grammar, and no member acknowledges too early."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from callboard.board.member.differences import Difference, difference
from callboard.board.member.listening import Listening
from callboard.board.member.topology_view import TopologyEvent, TopologyEventKind, TopologyView
from callboard.testing.simulation.topology.audience import AFTER
from tests.unit.board.member.views import alone, view

INIT, CHANGING, CHANGED, PROPERTIES = TopologyEventKind

VIEWS = st.builds(
    lambda epoch, colour: view("a*b", epoch, traits={"b": {"properties": {"colour": colour}}}),
    st.integers(1, 3),
    st.sampled_from(["red", "blue"]),
)
WHO = st.sampled_from("xyz")


class ListeningInAnyOrder(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 1000]))
    def begins(self, delay_ms: int) -> None:
        self.listening, self.now_ms, self.delay_ms = Listening(alone(), delay_ms), 0, delay_ms
        self.told: dict[str, list[TopologyEvent]] = {}
        self.handling: dict[str, TopologyEvent] = {}
        self.critical: dict[str, bool] = {}
        self.now: tuple[TopologyView | None, bool] = (None, False)
        self.current = list[TopologyView]()

    @rule(who=WHO, critical=st.booleans(), later_ms=st.sampled_from([0, 0, 700]))
    def bind(self, who: str, critical: bool, later_ms: int) -> None:
        if who in self.handling and who not in self.critical:
            return  # it was removed, and has not returned yet
        if self.listening.bind(who, critical=critical, not_before_ms=self.now_ms + later_ms):
            self.told[who], self.critical[who] = [], critical

    @rule(who=WHO)
    def unbind(self, who: str) -> None:
        assert self.listening.unbind(who) is (self.critical.pop(who, None) is not None)

    @rule(seen=VIEWS, agreed=st.booleans())
    def observe(self, seen: TopologyView, agreed: bool) -> None:
        self.now = seen, agreed
        self.listening.observe(seen, self.now_ms, agreed=agreed)

    @rule()
    def lose_standing(self) -> None:
        self.now = None, False
        self.listening.observe(None, self.now_ms, agreed=False)

    @rule(ms=st.sampled_from([1, 300, 1000]))
    def passes(self, ms: int) -> None:
        self.now_ms += ms
        self.listening.tick(self.now_ms)

    @rule()
    def deliver(self) -> None:
        for who, event in self.listening.due(self.now_ms):
            assert isinstance(who, str)
            assert who in self.critical
            assert who not in self.handling, "a listener is told one thing at a time"
            self._check(self.told[who], event)
            self.told[who].append(event)
            self.handling[who] = event

    @rule(who=WHO)
    def returns(self, who: str) -> None:
        if (event := self.handling.pop(who, None)) is not None:
            self.listening.returned(who, event)

    def _check(self, told: list[TopologyEvent], event: TopologyEvent) -> None:
        before = told[-1] if told else None
        assert event.kind in AFTER[before.kind if before else None]
        assert event.old is (None if before is None else before.new or before.old)
        if event.kind is PROPERTIES:
            assert event.old is not None
            assert event.new is not None
            assert difference(event.old, event.new) is not Difference.TOPOLOGY
        if event.new is not None:
            assert event.new.is_current
            assert difference(event.new, self.listening.view) is Difference.NONE, "it is told the newest view"

    @invariant()
    def one_view_is_current_and_none_comes_back(self) -> None:
        if not hasattr(self, "listening"):
            return
        if not any(each is self.listening.view for each in self.current):
            self.current.append(self.listening.view)
        lasting = {id(each.validity) for each in self.current if each.is_current}
        assert len(lasting) <= 1
        seen, agreed = self.now
        if self.listening.view.is_current:
            assert agreed
            assert seen is not None
            assert difference(seen, self.listening.view) is Difference.NONE

    @invariant()
    def acknowledged_only_when_no_critical_listener_acts(self) -> None:
        if hasattr(self, "listening") and self.listening.may_acknowledge:
            assert not self.listening.view.is_current
            for who, critical in self.critical.items():
                if critical:
                    assert who not in self.handling
                    assert not self.told[who] or self.told[who][-1].kind is CHANGING

    @rule()
    def comes_to_rest(self) -> None:
        """With one agreed view and enough time, every listener has that view, and its last event is not CHANGING."""
        seen = view("a*b", 1)
        self.observe(seen, True)
        for _ in range(6):
            self.passes(1000)
            for who in "xyz":
                self.returns(who)
            self.deliver()
        for who in self.critical:
            last = self.told[who][-1]
            assert last.new is not None
            assert difference(last.new, seen) is Difference.NONE
            assert last.new.is_current


TestListeningInAnyOrder: Any = ListeningInAnyOrder.TestCase
