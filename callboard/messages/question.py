"""Events that ask for an answer, whose class the question's class declares."""

from dataclasses import dataclass
from typing import Generic, TypeVar, get_args

from callboard.messages.event import Event

A = TypeVar("A", bound=Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Event, Generic[A]):
    """The base of every question: ``class QueueQuery(Question[QueuePage])`` is answered with a ``QueuePage``."""


def answer_to(question: Question[A], answer: Event) -> A:
    """The answer, checked to be one to this question. Raises ``TypeError`` otherwise: a bug in the sender."""
    expected: type[A] = get_args(vars(type(question))["__orig_bases__"][0])[0]
    if not isinstance(answer, expected):
        wrong = f"{type(question).__name__} was answered with {type(answer).__name__}"
        raise TypeError(f"{wrong}, not {expected.__name__}: a bug in that actor")
    return answer
