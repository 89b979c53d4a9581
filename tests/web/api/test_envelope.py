"""Views as JSON: what programs get of them, and what is told beside."""

import json
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from callboard.board.envelope import Diagnostic, Envelope, enclosed, written
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
    page = enclosed(Page(items=(), as_of=AsOf(1, 2), missing="the oldest"))
    assert (page.status, page.diagnostics) == ("ok", (Diagnostic("missing", "the oldest"),))
    status = enclosed(BoardStatus((), (), "the log is away", ("one", "two")), beside=[Diagnostic("a", "b")])
    assert [each.code for each in status.diagnostics] == ["problem", "note", "note", "a"]
    assert enclosed([1]).diagnostics == enclosed(None).diagnostics == enclosed({"problem": ""}).diagnostics == ()


def test_what_tells_of_a_problem_is_not_well():
    assert enclosed(BoardStatus((), (), "the log is away")).status == "attention"
    assert enclosed({"problem": "it is"}).status == "attention"
    assert enclosed([], beside=[Diagnostic("problem", "it is")]).status == "attention"
    assert enclosed({"problem": "it is"}, "error").status == "error"
    assert enclosed([], beside=[Diagnostic("note", "it is")]).status == "ok"


def test_the_envelope_has_its_fields_in_this_order():
    text = written(Envelope(status="attention", data=1, diagnostics=(Diagnostic("a", "b"),)))
    assert text == '{"version": 1, "status": "attention", "data": 1, "diagnostics": [{"code": "a", "message": "b"}]}'
