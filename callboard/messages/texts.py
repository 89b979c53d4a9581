"""Reads lists of text from messages, and checks text, which Protocol Buffers does not."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from google.protobuf.message import Message

from callboard.messages.distribution.topic_messages import Pairs


def read_pairs(get: Callable[[Message], Any], message: Message) -> Pairs:
    """The pairs that ``get`` finds in the message. Raises as ``demand_text``."""
    found = get(message)
    if not found:
        return ()
    pairs = tuple([(pair.name, pair.value) for pair in found])
    demand_text(chain.from_iterable(pairs))
    return pairs


def read_texts(get: Callable[[Message], Any], message: Message) -> tuple[str, ...]:
    """The list of texts that ``get`` finds in the message. Raises as ``demand_text``."""
    found = get(message)
    if not found:
        return ()
    texts = tuple(found[:])  # a slice takes a quarter of the time
    demand_text(texts)
    return texts


def demand_text(values: Iterable[object]) -> None:
    """Raises ``UnicodeError`` for text that is not UTF-8, which Protocol Buffers returns as bytes, unchecked."""
    if bytes in map(type, values):
        raise UnicodeError("it has text that is not UTF-8")
