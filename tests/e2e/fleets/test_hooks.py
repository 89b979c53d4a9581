"""Hooks of a service around real imports, in its own process and in processes of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, NotAllImported
from callboard.actors.core.backoff import Backoff
from callboard.actors.core.hooks import HookCall
from callboard.actors.subscriber import roles
from callboard.messages.distribution.topic_messages import PackageStatusMessage, State, Status
from callboard.messages.headers import open_record

QUICK = Backoff(first_s=0.05, max_s=0.1)
DEADLINE_S = 60.0


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run the test on an event loop of its own."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


async def until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition holds."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            found = condition()
            if isinstance(found, Awaitable):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "a.html").write_text("first")
    return folder


@pytest.mark.proves("F88")
@on_a_loop
async def test_the_hooks_are_called_before_and_after_an_import_and_for_an_invalidation(tmp_path, site):
    told: list[tuple[str, str, int, str]] = []

    def note(call: HookCall) -> None:
        there = Path(call.into, "a.html")
        told.append((call.hook, call.kind.name, call.attempt, there.read_text() if there.exists() else "nothing"))

    hooks = {"before_import": note, "after_import": note, "on_invalidate": note}
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        publisher = board.publisher("site")
        async with board.subscriber("edge-1", "./out", retry=QUICK, **hooks) as edge:
            await publisher.publish(site)
            await edge.caught_up()
            await until(lambda: len(told) == 2)
            await publisher.invalidate(["/a.html"])
            await edge.caught_up()
            await publisher.delete(["/a.html"])
            await edge.caught_up()
            await until(lambda: len(told) == 5)
    assert told == [
        ("before_import", "ADD", 1, "nothing"),
        ("after_import", "ADD", 1, "first"),
        ("on_invalidate", "INVALIDATE", 1, "first"),
        ("before_import", "DELETE", 1, "first"),
        ("after_import", "DELETE", 1, "nothing"),
    ]


@pytest.mark.parametrize("into", ["./out", "sqlite:./out.db"])
@on_a_loop
async def test_a_hook_gets_every_path_that_was_written_or_removed(tmp_path, site, into):
    told: list[tuple[int, set[tuple[str, bool]]]] = []

    def note(call: HookCall) -> None:
        told.append((call.changes.total, {(change.path, change.removed) for change in call.changes.all()}))

    for number in range(1000):
        (site / f"page-{number}.html").write_text("x")
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        publisher = board.publisher("site")
        async with board.subscriber("edge-1", into, after_import=note) as edge:
            await publisher.publish(site)
            await until(lambda: len(told) == 1)
            (site / "page-7.html").unlink()
            (site / "page-8.html").unlink()
            await publisher.publish(site, full=True)
            await until(lambda: len(told) == 2)
            await publisher.delete(["/page-9.html", "/never-there.html"])
            await until(lambda: len(told) == 3)
            assert (await edge.report()).reason == ""
    first, second, third = told
    assert first[0] == len(first[1]) == 1002
    assert {path for path, removed in second[1] if removed} == {"/page-7.html", "/page-8.html"}
    assert ("/page-9.html", False) in second[1]
    assert third == (1, {("/page-9.html", True)})


@pytest.mark.proves("F88", "F91", "R4")
@on_a_loop
async def test_a_hook_that_refuses_an_import_leaves_the_content_unchanged_and_is_called_again(tmp_path, site):
    refusals = [OSError("the disk is being checked")] * 2

    async def refuse(call: HookCall) -> None:
        if refusals:
            raise refusals.pop()

    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        edge = board.subscriber("edge-1", "./out", before_import=refuse, retry=Backoff(3600, 3600))
        async with edge:
            await board.publisher("site").publish(site)
            report = await until(lambda: failing(edge))
            assert report.reason.startswith("attempt 1 failed: before_import hook ")
            assert "OSError: the disk is being checked" in report.reason
            assert not (tmp_path / "out" / "a.html").exists()
        again = board.subscriber("edge-1", "./out", before_import=refuse, retry=QUICK)
        async with again:
            await again.caught_up()
        assert (tmp_path / "out" / "a.html").read_text() == "first"
        assert refusals == []


async def failing(edge) -> Any:
    report = await edge.report()
    return report if report.state is State.RETRYING else None


@pytest.mark.proves("W6")
@on_a_loop
async def test_a_hook_that_keeps_failing_after_imports_blocks_nothing_and_is_reported(tmp_path, site):
    def fail(call: HookCall) -> None:
        raise RuntimeError("no cache")

    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        publisher = board.publisher("site")
        options: dict[str, Any] = {"after_import": fail, "hook_max_retries": 1, "retry": QUICK, "editable": True}
        async with board.subscriber("edge-1", "./out", **options) as edge:
            first = await publisher.publish(site, ["/a.html"])
            (site / "b.html").write_text("second")
            await publisher.publish(site, ["/b.html"])
            with pytest.raises(NotAllImported) as left:
                await edge.caught_up()
            assert [(each.status, each.offset) for each in left.value.left] == [("hook_failed", 1), ("hook_failed", 2)]
            assert (tmp_path / "out" / "b.html").read_text() == "second"
            await until(lambda: all_given_up(edge))
            report = await edge.report()
            assert (report.imported, report.state) == (2, State.IDLE)
        told = await statuses(board)
        assert [line.status for line in told if line.offset == first.offset] == [Status.IMPORTED, Status.HOOK_FAILED]
        assert "no cache" in told[-1].reason


async def statuses(board) -> list[PackageStatusMessage]:
    topic, found = board.settings.topics.status, list[PackageStatusMessage]()
    start, end = await board.log.bounds(topic)
    while start < end:
        records = await board.log.read(topic, start)
        found += [open_record(record, PackageStatusMessage) for record in records]
        start = records[-1].offset + 1
    return found


async def errors(board) -> Any:
    return (await board.errors("edge-1")).items


async def all_given_up(edge) -> bool:
    return (await edge.report()).hooks == 0


MODULE = """
import os, signal, time
from pathlib import Path

def note(call):
    with Path(call.into, "..", call.hook + ".calls").open("a") as file:
        file.write(f"{call.offset} {call.attempt} {os.getpid()}\\n")

def die_twice(call):
    note(call)
    if call.attempt <= 2:
        os.kill(os.getpid(), signal.SIGKILL)

def hang_once(call):
    note(call)
    time.sleep(3600 if call.attempt == 1 else 0)

def die(call):
    note(call)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def calls(tmp_path: Path, hook: str) -> list[tuple[int, int]]:
    file = tmp_path / f"{hook}.calls"
    lines = file.read_text().splitlines() if file.exists() else []
    return [(int(line.split()[0]), int(line.split()[1])) for line in lines]


@pytest.mark.proves("W5", "W6")
@on_a_loop
async def test_a_hook_that_kills_its_process_is_counted_and_called_again_and_the_import_stays(tmp_path, site):
    (tmp_path / "e2e_dying_hooks.py").write_text(MODULE)
    async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
        options: dict[str, Any] = {"after_import": "e2e_dying_hooks:die_twice", "retry": QUICK}
        async with board.subscriber("edge-1", "./out", **options) as edge:
            package = await board.publisher("site").publish(site)
            await until(lambda: len(calls(tmp_path, "after_import")) == 3)
            await until(lambda: all_given_up(edge))
            report = await edge.report()
            assert (report.imported, report.offset) == (1, package.offset)
    assert calls(tmp_path, "after_import") == [(package.offset, attempt) for attempt in (1, 2, 3)]


@pytest.mark.proves("W5")
@on_a_loop
async def test_a_package_whose_hook_always_kills_the_importer_is_given_up(tmp_path, site):
    (tmp_path / "e2e_deadly_hooks.py").write_text(MODULE)
    async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
        options: dict[str, Any] = {"before_import": "e2e_deadly_hooks:die", "retry": QUICK, "max_retries": 1}
        async with board.subscriber("edge-1", "./out", **options) as edge:
            package = await board.publisher("site").publish(site)
            with pytest.raises(NotAllImported, match="offset 1 of site was given up"):
                await edge.caught_up()
            (error,) = await until(partial(errors, board))
    assert error.offset == package.offset
    assert [attempt for _, attempt in calls(tmp_path, "before_import")] == [1, 2, 3]
    assert not (tmp_path / "out" / "a.html").exists()


@pytest.mark.proves("W6")
@on_a_loop
async def test_a_hook_is_called_after_its_process_was_killed_between_import_and_call(tmp_path, site):
    """The importer is killed while the first call runs, before it can learn that the call has ended."""
    (tmp_path / "e2e_slow_hooks.py").write_text(MODULE)
    async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
        options: dict[str, Any] = {"after_import": "e2e_slow_hooks:hang_once", "retry": QUICK}
        async with board.subscriber("edge-1", "./out", **options) as edge:
            package = await board.publisher("site").publish(site)
            await until(lambda: calls(tmp_path, "after_import"))
            agent = await edge.start()
            await agent.kill(roles.IMPORTER)
            await until(lambda: len(calls(tmp_path, "after_import")) == 2)
            await until(lambda: all_given_up(edge))
            assert (await edge.report()).imported == 1
    assert calls(tmp_path, "after_import") == [(package.offset, 1), (package.offset, 2)]
