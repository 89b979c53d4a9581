"""Operators command subscribers from the console, and what is said of it on the log."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.actors.core.backoff import Backoff
from callboard.messages.signing import SigningKey
from callboard.web.console.actions import subscribers
from tests.web.actions.operators import console, fleet, records, until
from tests.web.served import run

HOSTILE = "<script>alert(1)</script> \u202e\x1b[31m\n'\""


async def published(board: Callboard, folder: Path, *texts: str) -> None:
    for text in texts:
        (folder / "site" / f"{text}.html").write_text(text)
        await board.publisher("main").publish(folder / "site", [f"/{text}.html"])


@run
async def test_a_subscriber_is_paused_limited_and_resumed_by_who_says_why(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        form = await at.ada.form("pause", subscriber="berlin")
        assert form.status == 200
        assert "imports nothing until it is resumed" in form.words
        assert "berlin is idle" in form.words
        done = await at.ada.send("pause", form.fields, reason="the disk is replaced")
        assert (done.status, "berlin is paused" in done.words) == (200, True)
        await until(board, "berlin", "paused")
        done = await at.ben.act("throttle", "slowly at first", {"packages_per_min": "600"}, subscriber="berlin")
        assert "berlin has the new limit" in done.words
        assert "berlin has resumed" in (await at.ben.act("resume", "it is back", subscriber="berlin")).words
        row = await until(board, "berlin", "idle")
        assert row.throttle_per_min == 600
        assert await at.commands() == [
            ("berlin", "ada", "the disk is replaced"), ("berlin", "ben", "slowly at first"),
            ("berlin", "ben", "it is back"),
        ]  # fmt: skip


@run
async def test_a_clear_says_how_many_packages_it_is_about_and_leaves_those_that_come_later(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        await at.ada.act("pause", subscriber="berlin")
        await published(board, tmp_path, "one", "two", "three")
        form = await at.ada.form("clear", subscriber="berlin")
        assert "berlin will skip 3 packages of its queue up to offset" in form.words
        await published(board, tmp_path, "four")
        done = await at.ada.send("clear", form.fields, reason="no longer wanted")
        assert "berlin skipped 3 packages" in done.words
        await at.ada.act("resume", subscriber="berlin")
        await until(board, "berlin", "idle")
        assert [each.name for each in sorted((tmp_path / "berlin").glob("*.html"))] == ["four.html", "index.html"]
        some = await at.ada.form("clear", subscriber="berlin")
        assert (some.status, "is empty; there is nothing to clear" in some.words) == (409, True)
        other = await at.ada.form("clear", subscriber="paris")
        assert (other.status, "not editable" in other.words) == (409, True)


@run
async def test_a_skip_is_of_the_package_that_was_at_the_head_when_the_form_was_opened(tmp_path: Path):
    async def refuse(_: object) -> None:
        raise ValueError("not this one")

    async with fleet(tmp_path) as board, console(board) as at:
        options = {"editable": True, "max_retries": 0, "retry": Backoff(first_s=0.01, max_s=0.01)}
        async with board.subscriber("stuck", tmp_path / "stuck", before_import=refuse, on_give_up="block", **options):
            await published(board, tmp_path, "one")
            row = await until(board, "stuck", "blocked")
            form = await at.ada.form("skip", subscriber="stuck")
            assert form.fields["offset"] == str(row.head_offset)
            assert f"offset {row.head_offset}" in form.words
            done = await at.ada.send("skip", form.fields, reason="it is broken")
            assert "stuck skipped 1 package" in done.words
            again = await at.ada.act("retry", subscriber="stuck")
            assert "stuck retries" in again.words
    nothing = "nothing is at the head of the queue of berlin"
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, console(board) as at:
        assert nothing in (await at.ada.form("skip", subscriber="berlin")).words


def test_a_log_that_another_program_has_locked_is_told_without_names_from_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(subscribers, "WAIT_S", 0.3)

    @run
    async def scenario() -> None:
        async with fleet(tmp_path) as board, console(board) as at:
            form = await at.ada.form("pause", subscriber="berlin")
            with closing(sqlite3.connect(tmp_path / "board.db" / "callboard.command.db")) as other:
                other.execute("BEGIN IMMEDIATE")
                done = await at.ada.send("pause", form.fields, reason="as agreed")
                other.rollback()
            assert done.status == 503
            assert "no answer in time, perhaps as the log cannot be written; it may have been done" in done.words
            assert "actor" not in done.words

    scenario()


@run
async def test_who_cannot_answer_gets_the_command_later(tmp_path: Path):
    async with fleet(tmp_path) as board:
        pass
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, console(board) as at:
        done = await at.ada.act("pause", subscriber="berlin")
        assert done.status == 202
        assert "berlin is stopped; it gets the command when it starts" in done.words


@run
async def test_what_an_operator_says_is_escaped_and_on_the_log_as_it_is(tmp_path: Path):
    async with fleet(tmp_path) as board, console(board) as at:
        form = await at.ada.form("throttle", subscriber="berlin")
        wrong = await at.ada.send("throttle", form.fields, reason=HOSTILE, packages_per_min="<b>")
        assert wrong.status == 400
        assert "<script" not in wrong.html
        assert "<b>" not in wrong.html
        assert "\u202e" not in wrong.html
        done = await at.ada.send("throttle", wrong.fields, reason=HOSTILE, packages_per_min="7")
        assert done.status == 200
        assert (await at.commands())[0] == ("berlin", "ada", HOSTILE)
        page = await at.ada.get("/subscribers/berlin", dialog=False)
        assert "<script>alert" not in page.html


@pytest.mark.parametrize(("length", "letter"), [(10_000, "x"), (10_000, "\U0001f525"), (10_001, "x"), (140_000, "x")])
def test_a_reason_has_up_to_ten_thousand_characters(tmp_path: Path, length: int, letter: str):
    @run
    async def scenario() -> None:
        async with fleet(tmp_path) as board, console(board) as at:
            done = await at.ada.act("pause", letter * length, subscriber="berlin")
            assert done.status == {10_000: 200, 10_001: 400, 140_000: 413}[length]
            assert len(await at.commands()) == (length == 10_000)
            if length > 10_000:
                assert "reason" in done.words

    scenario()


@run
async def test_the_record_is_signed_like_on_the_command_line(tmp_path: Path):
    key = SigningKey("ops", b"k" * 32)
    async with fleet(tmp_path, signing_key=key, trusted_keys=(key,)) as board, console(board) as at:
        done = await at.ada.act("pause", "with a signature", subscriber="berlin")
        assert "berlin is paused" in done.words
        assert await at.commands() == [("berlin", "ada", "with a signature")]
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as unsigned:
        first, *_ = await records(unsigned)
        assert first.header("signature").startswith("ops ")
