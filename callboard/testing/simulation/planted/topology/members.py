"""Bugs in the actors of a member, and in what leaders write to."""

from dataclasses import replace
from typing import Any

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.member import view_keeper
from callboard.actors.topology.member.barriers import BarrierReading
from callboard.actors.topology.member.proposer import Proposer
from callboard.actors.topology.member.renewer import Renewer
from callboard.actors.topology.member.standing import Standing
from callboard.actors.topology.member.view_keeper import ViewKeeper
from callboard.actors.topology.verdict import Reason
from callboard.backends.fence import Fence
from callboard.board.member import leadership
from callboard.messages.event import replaced
from callboard.testing.simulation.planted.patch import Patch

FOR_EVER_MS = 10**9


def _from_reading(right: Any, self: Standing, state: Any, now_ms: int) -> None:
    self._sent = dict.fromkeys(self._sent, now_ms)
    right(self, state, now_ms)


def _to_the_end(right: Any, self: Standing, state: Any, now_ms: int) -> None:
    self._settings = replace(self._settings, margin=0.0)
    right(self, state, now_ms)


def _from_sending(right: Any, self: Standing, said: Any) -> None:
    right(self, said)
    self._until_ms = max(self._until_ms, said.at_ms + 7000) if self._until_ms else 0


def _unsettled(right: Any, view: Any, **given: Any) -> Any:
    return right(replace(view, settled=True) if view else None, **given)


def _always_alive(right: Any, self: Renewer, now: Any) -> Any:
    self._pulse_ms = int(now.mono_s * 1000)
    return right(self, now)


def _from_what_was_read(right: Any, self: Renewer, news: Any, now: Any) -> None:
    began = self._seq < 0
    right(self, news, now)
    self._seq = self._me.seq if began and self._me else self._seq


def _only_renews(_: Any, self: Renewer) -> None:
    self._due = True


def _patient(right: Any, self: Standing, verdict: Any, state: Any) -> None:
    if verdict.reason is not Reason.DUPLICATE_ID:
        right(self, verdict, state)


def _thrifty(right: Any, *arguments: Any) -> Any:
    fold = right(*arguments)
    return fold and ClusterFold(replaced(fold.state, evicted_ms=()))


BUGS = (
    Patch("the lease counts from when it was read back", Standing, "read", _from_reading),
    Patch("the lease counts from when it was sent", Standing, "sent", _from_sending),
    Patch("the lease counts to its end", Standing, "read", _to_the_end),
    Patch("the lease has no end", Standing, "until_ms", lambda right, self: FOR_EVER_MS if right(self) else 0),
    Patch("a leader does not wait until its view is settled", leadership, "may_lead", _unsettled),
    Patch("a member is renewed without its service", Renewer, "_next", _always_alive),
    Patch("nobody proposes", Proposer, "_wait", lambda *_: ()),
    Patch("a restarted renewer counts on from what was read", Renewer, "_learn", _from_what_was_read),
    Patch("an acknowledgement is not repeated", Renewer, "_fall_due", _only_renews),
    Patch("a second process with one id does not end", Standing, "_refused", _patient),
    Patch("a replaced log is not noticed", ViewKeeper, "_replaced", lambda *_: None),
    Patch("a snapshot forgets the budget", view_keeper, "begun", _thrifty),
    Patch("barriers are not read", BarrierReading, "found", lambda *_: ()),
    Patch("the fence admits former leaders", Fence, "admit", lambda *_: True),
)
