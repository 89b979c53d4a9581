from callboard.actors.runtime.outbox import MAX_EVENTS_PER_MAIL, Outbox
from callboard.messages.distribution.fleet_mail import FleetQuery
from callboard.messages.distribution.mailbox import Admitted, ReportQuery


def test_events_for_one_receiver_share_a_mail_in_their_order() -> None:
    outbox = Outbox()
    outbox.put("a", 0, Admitted())
    outbox.put("b", 0, FleetQuery())
    outbox.put("a", 0, ReportQuery())
    assert outbox.take() == [("a", 0, (Admitted(), ReportQuery())), ("b", 0, (FleetQuery(),))]
    assert outbox.take() == []


def test_an_answer_between_two_events_keeps_its_place() -> None:
    outbox = Outbox()
    outbox.put("a", 0, Admitted())
    outbox.put("a", 5, FleetQuery())
    outbox.put("a", 0, ReportQuery())
    assert [question for _, question, _ in outbox.take()] == [0, 5, 0]


def test_a_mail_is_bounded() -> None:
    outbox = Outbox()
    for _ in range(MAX_EVENTS_PER_MAIL + 1):
        outbox.put("a", 0, Admitted())
    assert [len(events) for _, _, events in outbox.take()] == [MAX_EVENTS_PER_MAIL, 1]
