from callboard.actors.runtime.supervision import (
    AllStopped,
    Announce,
    AskToStop,
    End,
    GiveUp,
    Limits,
    Ping,
    Start,
    Supervision,
    Wait,
    Withdraw,
)

LIMITS = Limits(backoff_s=(0.0, 0.5, 2.0), window_s=30, max_restarts=3, beat_s=1, missed_beats=3)


def running(*roles: str, epochs: dict[str, int] | None = None) -> Supervision:
    supervision = Supervision(roles, LIMITS, epochs or {})
    for start in supervision.begin(0.0):
        supervision.came_up(start.role, start.epoch, 0.0)
    return supervision


def test_every_actor_is_started_with_epoch_one() -> None:
    assert Supervision(("a", "b"), LIMITS, {}).begin(0) == [Start("a", 1), Start("b", 1)]


def test_epochs_continue_after_those_of_an_earlier_system() -> None:
    assert Supervision(("a", "b"), LIMITS, {"a": 7}).begin(0) == [Start("a", 8), Start("b", 1)]


def test_an_actor_that_comes_up_is_announced() -> None:
    supervision = Supervision(("a",), LIMITS, {})
    supervision.begin(0)
    assert supervision.came_up("a", 1, 0.1) == [Announce("a", 1)]


def test_a_dead_actor_is_replaced_at_once_the_first_time_and_with_backoff_later() -> None:
    supervision = running("a")
    assert supervision.exited("a", 1, "died", 1) == [Withdraw("a", 1, "died"), Start("a", 2)]
    assert supervision.exited("a", 2, "died", 2)[1:] == [Wait("a", 0.5)]
    assert supervision.waited("a", 2.5) == [Start("a", 3)]
    assert supervision.exited("a", 3, "died", 3)[1:] == [Wait("a", 2.0)]


def test_an_exit_reported_twice_counts_once() -> None:
    supervision = running("a")
    supervision.exited("a", 1, "died", 1)
    assert supervision.exited("a", 1, "died", 1) == []


def test_an_actor_that_dies_too_often_in_the_window_is_given_up() -> None:
    supervision = running("a")
    epoch = 1
    for second in range(LIMITS.max_restarts):
        assert GiveUp not in map(type, supervision.exited("a", epoch, "died", second))
        supervision.waited("a", second)
        epoch += 1
    [_, verdict] = supervision.exited("a", epoch, "crashed with KeyError", 4)
    assert isinstance(verdict, GiveUp)
    assert "more than 3 times in 30 s" in verdict.reason
    assert "crashed with KeyError" in verdict.reason
    assert supervision.waited("a", 5) == []


def test_an_actor_whose_deaths_are_spread_over_more_than_the_window_is_not_given_up() -> None:
    supervision = running("a")
    for epoch in range(1, 20):
        directives = supervision.exited("a", epoch, "died", epoch * 31.0)
        assert directives[1:] == [Start("a", epoch + 1)]


def test_an_actor_that_does_not_come_up_is_replaced_after_the_deadline() -> None:
    supervision = Supervision(("a",), LIMITS, {})
    supervision.begin(0)
    directives = supervision.start_overdue("a", 1, 10)
    assert directives == [End("a", 1), Withdraw("a", 1, "did not start within 10 s"), Start("a", 2)]


def test_the_start_deadline_of_a_running_actor_is_ignored() -> None:
    assert running("a").start_overdue("a", 1, 10) == []


def test_an_actor_that_comes_up_after_it_was_given_up_is_ended() -> None:
    supervision = Supervision(("a",), LIMITS, {})
    supervision.begin(0)
    supervision.start_overdue("a", 1, 10)
    assert supervision.came_up("a", 1, 11) == [End("a", 1)]


def test_a_silent_actor_is_replaced_and_one_with_heartbeats_is_not() -> None:
    supervision = running("silent", "alive")
    assert supervision.pulse(1) == [Ping("silent", 1), Ping("alive", 1)]
    supervision.beat_heard("alive", 1, 3.5)
    assert supervision.pulse(3.6) == [
        End("silent", 1),
        Withdraw("silent", 1, "was silent for 3.6 s"),
        Start("silent", 2),
        Ping("alive", 1),
    ]


def test_the_heartbeat_of_a_predecessor_does_not_count() -> None:
    supervision = running("a")
    supervision.exited("a", 1, "died", 1)
    supervision.came_up("a", 2, 1)
    supervision.beat_heard("a", 1, 100)
    assert End("a", 2) in supervision.pulse(10)


def test_an_actor_that_stopped_is_not_replaced() -> None:
    supervision = running("a", "b")
    assert supervision.stopped("a", 1) == [Withdraw("a", 1), End("a", 1)]
    assert supervision.exited("a", 1, "died", 1) == []
    assert supervision.waited("a", 2) == []


def test_stopping_asks_every_actor_and_ends_when_the_last_has_stopped() -> None:
    supervision = running("a", "b")
    assert supervision.stop() == [AskToStop("a", 1), AskToStop("b", 1)]
    assert AllStopped() not in supervision.stopped("a", 1)
    assert supervision.stopped("b", 1)[-1] == AllStopped()


def test_an_actor_that_dies_while_stopping_has_stopped() -> None:
    supervision = running("a")
    supervision.stop()
    assert supervision.exited("a", 1, "died", 1) == [Withdraw("a", 1, "died"), AllStopped()]


def test_stopping_does_not_wait_for_an_actor_in_backoff() -> None:
    supervision = running("a")
    supervision.exited("a", 1, "died", 1)
    supervision.exited("a", 2, "died", 1)
    assert supervision.stop() == [AllStopped()]
    assert supervision.waited("a", 2) == []


def test_an_actor_that_has_not_stopped_by_the_end_of_the_drain_is_ended() -> None:
    supervision = running("a", "b")
    supervision.stop()
    supervision.stopped("a", 1)
    assert supervision.drain_over() == [End("b", 1), AllStopped()]
    assert supervision.drain_over() == []
