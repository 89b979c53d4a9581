import pytest

from callboard.messages.codec import event_classes
from callboard.messages.distribution.fleet_mail import FleetView
from callboard.messages.distribution.queue_mail import QueuePage, QueueQuery, QueueSize
from callboard.messages.question import Question, answer_to

QUERY = QueueQuery(after=3)
QUESTIONS = [kind for kind in event_classes().values() if issubclass(kind, Question)]


def test_a_question_is_answered_with_the_event_that_its_class_names() -> None:
    page = QueuePage(queue=QueueSize(publisher="site", after=3))
    assert answer_to(QUERY, page) is page


def test_a_wrong_answer_is_a_bug_that_names_the_actor_and_the_question() -> None:
    with pytest.raises(TypeError, match="QueueQuery was answered with FleetView, not QueuePage"):
        answer_to(QUERY, FleetView(members=()))


@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_question_names_the_event_that_answers_it(kind: type[Question]) -> None:
    question = object.__new__(kind)
    with pytest.raises(TypeError, match="was answered with QueueSize, not ") as raised:
        answer_to(question, QueueSize(publisher="site", after=3))
    assert str(raised.value).rpartition("not ")[2].partition(":")[0] in event_classes()
