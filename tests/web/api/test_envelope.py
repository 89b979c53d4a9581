"""Views as JSON: what programs get of them, and what is told beside."""

import json
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from callboard.board.envelope import Diagnostic, Envelope, told, written
from callboard.board.jobs.job import Job
from callboard.board.page import AsOf, Page
from callboard.board.views import BoardStatus
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_state import JobState


def read(answer: object, **options: Any) -> Any:
    return json.loads(written(answer, **options))


def test_a_page_says_whether_it_is_complete():
    page = Page(items=(1,), as_of=AsOf(7, 8))
    assert read(page) == {
        "items": [1], "as_of": {"offset": 7, "time_ns": 8}, "cursor": "", "size": -1, "missing": "", "complete": True,
    }  # fmt: skip
    assert not read(Page(items=(), as_of=AsOf(7, 8), missing="some"))["complete"]


def test_the_state_of_a_job_is_a_word_and_bytes_are_in_base64():
    job = read(Job(id=1, topic="a", queue="b", state=JobState.GIVEN_UP, payload=b"\0", result={"a": b"\1"}))
    assert (job["state"], job["payload"], job["result"]) == ("given_up", {"base64": "AA=="}, {"a": {"base64": "AQ=="}})


class Word(StrEnum):
    A = "a"


class Number(IntEnum):
    ONE = 1


@dataclass(frozen=True)
class View:
    word: Word
    number: Number
    mapping: object


def test_enums_and_mappings_are_written_as_what_they_stand_for():
    assert read(View(Word.A, Number.ONE, MappingProxyType({"a": (1, 2)}))) == {
        "word": "a", "number": "one", "mapping": {"a": [1, 2]},
    }  # fmt: skip


def test_what_is_not_for_json_is_an_error():
    with pytest.raises(TypeError, match="set is not for JSON"):
        written({1, 2})


def test_what_is_nested_too_deep_is_refused():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RequestRefused, match="nested too deep") as refused:
        written(Envelope(data=deep))
    assert refused.value.code == "too_large"
    while deep:
        deep = deep.pop()  # to drop it at once would be as deep


def test_a_view_tells_what_it_lacks():
    assert list(told(Page(items=(), as_of=AsOf(1, 2), missing="the oldest"))) == [Diagnostic("missing", "the oldest")]
    status = BoardStatus((), (), "the log is away", ("one", "two"))
    assert [each.code for each in told(status)] == ["problem", "note", "note"]
    assert list(told({"problem": "it is"})) == [Diagnostic("problem", "it is")]
    assert list(told([1])) == list(told(None)) == []


def test_the_envelope_has_its_fields_in_this_order():
    text = written(Envelope(status="attention", data=1, diagnostics=(Diagnostic("a", "b"),)))
    assert text == '{"version": 1, "status": "attention", "data": 1, "diagnostics": [{"code": "a", "message": "b"}]}'
