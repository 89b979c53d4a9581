"""Who may act at the console, how often a form is good, and what wrong forms are told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from callboard import Callboard
from callboard.web.console.actions.table import ACTIONS
from tests.web.actions.operators import Answer, console, fleet
from tests.web.served import run

FORM = "application/x-www-form-urlencoded"


def form_of(answer: Answer) -> dict[str, str]:
    assert answer.status == 200, answer.words
    return answer.fields


@run
async def test_viewers_and_strangers_neither_see_buttons_nor_get_forms_nor_act(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        fields = form_of(await at.ada.form("pause", subscriber="berlin"))
        assert 'hx-get="/actions/pause' in (await at.ada.get("/subscribers/berlin", dialog=False)).html
        for person in (at.vic, at.nobody):
            page = await person.get("/subscribers/berlin", dialog=False)
            assert page.status == 200
            assert "/actions/" not in page.html
            for action in ACTIONS:
                form = await person.form(action, subscriber="berlin")
                assert (form.status, "ask for the role operator" in form.words) == (403, True)
                sent = await person.send(action, fields, reason="please")
                assert (sent.status, "ask for the role operator" in sent.words) == (403, True)
        assert await at.commands() == []


@run
async def test_nobody_acts_unless_the_console_was_started_for_that(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board, allow_actions=False) as at:
        page = await at.ada.get("/subscribers/berlin", dialog=False)
        assert "/actions/" not in page.html
        form = await at.ada.form("pause", subscriber="berlin")
        assert (form.status, "--allow-actions" in form.words) == (403, True)
        sent = await at.ada.send("pause", {"subscriber": "berlin", "token": "x"}, reason="please")
        assert (sent.status, await at.commands()) == (403, [])


@run
async def test_a_form_that_is_sent_again_tells_its_result_and_does_nothing(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        fields = form_of(await at.ada.form("pause", subscriber="berlin"))
        first, second = await asyncio.gather(*(at.ada.send("pause", fields, reason="twice") for _ in range(2)))
        assert sorted((first.status, second.status)) == [200, 409]
        again = await at.ada.send("pause", fields, reason="and later once more")
        assert again.status == 409
        assert "this form was already sent; its result is: berlin is paused" in again.words
        assert len(await at.commands()) == 1
        stolen = await at.ben.send("pause", fields, reason="with the form of another")
        assert (stolen.status, "berlin is paused" in stolen.words) == (403, False)


@run
async def test_a_form_is_good_only_for_its_user_its_action_and_its_target(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        fields = form_of(await at.ada.form("pause", subscriber="berlin"))
        forged = [
            (at.ben, "pause", fields), (at.ada, "resume", fields), (at.ada, "pause", fields | {"subscriber": "paris"}),
            (at.ada, "pause", fields | {"token": "0"}), (at.ada, "pause", fields | {"token": "x" * 5000}),
            (at.ada, "pause", fields | {"token": ""}), (at.ada, "pause", {"subscriber": "berlin"}),
            (at.ada, "skip", fields | {"offset": "1"}),
        ]  # fmt: skip
        for person, action, those in forged:
            sent = await person.send(action, those, reason="forged")
            assert (sent.status, "open it again" in sent.words) == (403, True), sent.words
            assert "Open the form again" in sent.words
        assert await at.commands() == []
        assert (await at.ada.send("pause", fields, reason="the real one")).status == 200


@pytest.mark.parametrize(
    ("action", "target", "status", "told"),
    [
        ("pause", {}, 400, "pause needs the subscriber"),
        ("pause", {"subscriber": "berlni"}, 404, "did you mean 'berlin'?"),
        ("pause", {"subscriber": "<b>\u202e"}, 404, "no subscriber '<b>\\u202e' was ever heard of"),
        ("pause", {"subscriber": "berlin", "offset": "1"}, 400, "pause has no parameter 'offset'"),
        ("throttle", {"subscriber": "berlin", "packages_per_min": "1"}, 400, "has no parameter 'packages_per_min'"),
        ("skip", {"subscriber": "berlin", "offset": "-1"}, 400, "offset is '-1', but should be a whole number"),
        ("skip", {"subscriber": "berlin", "offset": "9" * 30}, 400, "should be a whole number"),
        ("skip", {"subscriber": "berlin", "offset": "1e3"}, 400, "should be a whole number"),
        ("skip", {"subscriber": "berlin", "offset": "\u0661"}, 400, "should be a whole number"),
        ("clear", {"subscriber": "berlin", "offset": "999999"}, 409, "is empty"),
        ("stop-job", {"job": "7"}, 404, "there is no job 7"),
        ("stop-job", {"job": "x"}, 400, "should be a whole number"),
        ("drain", {"instance": "one"}, 404, "no member 'one' was ever heard of"),
        ("suspend-queue", {"queue": "mian"}, 404, "did you mean 'main'?"),
        ("pasue", {"subscriber": "berlin"}, 404, "did you mean 'pause'?"),
        ("x" * 3000, {}, 404, "there is no such action"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_says_why(tmp_path: Path, action: str, target: dict[str, str], status: int, told: str):
    @run
    async def scenario() -> None:
        async with fleet(tmp_path) as board, console(board) as at:
            form = await at.ada.form(action, **target)
            assert (form.status, told in form.words) == (status, True), form.words
            assert "<b>" not in form.html

    scenario()


@run
async def test_a_reason_and_numbers_are_asked_for_again_with_what_was_given(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        fields = form_of(await at.ada.form("throttle", subscriber="berlin"))
        none = await at.ada.send("throttle", fields, reason="  \n ", packages_per_min="60")
        assert (none.status, "an action needs a reason" in none.words) == (400, True)
        assert 'value="60"' in none.html
        for wrong in ("", "six", "-6", "6.5", "9" * 19, "9" * 40):
            sent = await at.ada.send("throttle", none.fields, reason="slowly", packages_per_min=wrong)
            assert sent.status == 400, (wrong, sent.words)
            assert "slowly" in sent.words
        unknown = await at.ada.send("throttle", sent.fields, reason="slowly", packages_per_min="6", offset="1")
        assert (unknown.status, "has no parameter 'offset'" in unknown.words) == (400, True)
        assert await at.commands() == []
        done = await at.ada.send("throttle", unknown.fields, reason="slowly", packages_per_min=" 6 ")
        assert done.status == 200


@run
async def test_what_no_form_sends_is_refused(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        client = at.ada.client
        for content, kind, status in (
            (b"subscriber=berlin&reason=x", "text/plain", 400), (b'{"reason": "x"}', "application/json", 400),
            (b"subscriber=berlin&subscriber=paris&reason=x&token=1", FORM, 400), (b"a=1&" * 30, FORM, 400),
            (b"", FORM, 400), (b"reason=%ff%fe", FORM, 400), (b"\xff\xfe", FORM, 400),
            (b"reason=" + b"x" * 140_000, FORM, 413),
        ):  # fmt: skip
            headers = {"x-user": "ada", "content-type": kind, "hx-request": "true"}
            answer = await client.post("/actions/pause", content=content, headers=headers)
            assert answer.status_code == status, (content[:50], answer.status_code, answer.text)
        assert (await client.put("/actions/pause", headers={"x-user": "ada"})).status_code == 405
        assert await at.commands() == []


@run
async def test_without_scripts_forms_and_results_are_pages_of_their_own(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        form = await at.ada.get("/actions/pause", dialog=False, subscriber="berlin")
        assert form.html.startswith("<!doctype html>")
        assert "<title>Pause" in form.html
        assert "ada (operator)" in form.words
        done = await at.ada.send("pause", form.fields, dialog=False, reason="by hand")
        assert done.html.startswith("<!doctype html>")
        assert "berlin is paused" in done.words
        refused = await at.vic.get("/actions/pause", dialog=False, subscriber="berlin")
        assert (refused.status, refused.html.startswith("<!doctype html>")) == (403, True)


@run
async def test_each_action_is_in_the_log_of_the_console(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        with capture_logs() as lines:
            await at.ada.act("pause", "as agreed", subscriber="berlin")
            await at.vic.form("pause", subscriber="berlin")
        told = [line for line in lines if line["event"] == "action.performed"]
        assert told == [
            {"event": "action.performed", "log_level": "info", "user": "ada", "action": "pause", "target": "berlin",
             "result": "accepted", "detail": "berlin is paused"},
        ]  # fmt: skip


@run
async def test_a_log_that_is_away_while_the_form_is_open_is_said_and_the_form_can_be_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from callboard.errors import LogUnavailable

    async with fleet(tmp_path) as board, console(board) as at:
        fields = form_of(await at.ada.form("suspend-queue", queue=(await queue(board))))

        async def away(*_: Any, **__: Any) -> Any:
            raise LogUnavailable("the log cannot be reached")

        with monkeypatch.context() as patch:
            patch.setattr(type(board.log), "bounds", away)
            sent = await at.ada.send("suspend-queue", fields, reason="now")
        assert (sent.status, "look before you repeat it" in sent.words) == (503, True)
        assert "Open the form again" in sent.words
        again = await at.ada.send("suspend-queue", fields, reason="now")
        assert "this form was already sent; its result is: the log cannot be reached" in again.words
        assert (await at.ada.act("suspend-queue", queue="main")).status == 200


async def queue(board: Callboard) -> str:
    await board.jobs.add("mail/send")
    return "main"
