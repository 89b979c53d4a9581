"""Hooks are the service's own code: the subscriber survives anything they do, and reports what happened."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.core.hooks import Hook, HookCall, HookSettings
from callboard.board.connect.functions.hooks import STUCK_MAX, HookRunner, check, find
from callboard.errors import ConfigError, HookFailed
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

PACKAGE = PackageMessage(
    publisher_instance="i",
    publisher="site",
    package_id="p-7",
    kind=Kind.ADD,
    paths=("/a", "/b"),
    deep_paths=("/b",),
    metadata=(("why", "news"),),
)


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """Modules of the test's own folder are forgotten with it."""
    yield tmp_path
    sys.path[:] = [folder for folder in sys.path if folder != str(tmp_path)]
    for name in [name for name, it in sys.modules.items() if str(tmp_path) in str(getattr(it, "__file__", ""))]:
        del sys.modules[name]


def run(function: Any, *, timeout_s: float = 60.0, hook: Hook = Hook.BEFORE_IMPORT, base: Path = Path("/")) -> None:
    hooks = HookSettings(**{hook.value: function}, timeout_s=timeout_s)
    asyncio.run(HookRunner(hooks, "edge-1", "/srv/out", base).call(hook, PACKAGE, 41, 2))


@pytest.mark.proves("F88")
def test_a_hook_gets_what_it_needs_to_do_its_work_once() -> None:
    told: list[HookCall] = []
    run(told.append)
    assert told == [
        HookCall(
            hook=Hook.BEFORE_IMPORT,
            kind=Kind.ADD,
            paths=("/a", "/b"),
            deep_paths=("/b",),
            package_id="p-7",
            publisher="site",
            offset=41,
            subscriber="edge-1",
            into="/srv/out",
            metadata=(("why", "news"),),
            attempt=2,
        )
    ]
    with pytest.raises(FrozenInstanceError):
        told[0].offset = 1  # type: ignore[misc]  # that is what must not work


def test_a_cancellation_inside_a_hook_counts_as_its_failure() -> None:
    async def fetch_from_what_was_closed(call: HookCall) -> None:
        fetched = asyncio.get_running_loop().create_future()
        fetched.cancel()
        await fetched

    with pytest.raises(HookFailed, match="CancelledError"):
        run(fetch_from_what_was_closed)


def test_a_call_of_a_hook_can_be_cancelled() -> None:
    async def scenario() -> None:
        begun = asyncio.Event()

        async def endless(call: HookCall) -> None:
            begun.set()
            await asyncio.Event().wait()

        hooks = HookRunner(HookSettings(before_import=endless), "edge-1", "/srv/out", Path("/"))
        calling = asyncio.ensure_future(hooks.call(Hook.BEFORE_IMPORT, PACKAGE, 41, 2))
        await begun.wait()
        calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled()

    asyncio.run(scenario())


def test_a_synchronous_hook_runs_in_a_thread_and_an_asynchronous_one_on_the_event_loop() -> None:
    threads: list[threading.Thread] = []

    async def on_the_loop(call: HookCall) -> None:
        threads.append(threading.current_thread())

    def returns_an_awaitable(call: HookCall) -> object:
        return on_the_loop(call)

    run(lambda call: threads.append(threading.current_thread()))
    run(on_the_loop)
    run(partial(on_the_loop))
    run(returns_an_awaitable)
    assert [thread is threading.main_thread() for thread in threads] == [False, True, True, True]


def raises(call: HookCall) -> None:
    raise OSError("the cache is away")


async def raises_later(call: HookCall) -> None:
    await asyncio.sleep(0)
    raises(call)


def exits(call: HookCall) -> None:
    sys.exit(3)


async def exits_later(call: HookCall) -> None:
    sys.exit(3)


def interrupts(call: HookCall) -> None:
    raise KeyboardInterrupt


def runs_out(call: HookCall) -> None:
    next(iter(()))


@pytest.mark.proves("F88")
@pytest.mark.parametrize(
    ("hook", "error"),
    [
        (raises, "OSError: the cache is away"),
        (raises_later, "OSError: the cache is away"),
        (exits, "SystemExit: 3"),
        (exits_later, "SystemExit: 3"),
        (interrupts, "KeyboardInterrupt: "),
        (runs_out, "RuntimeError: coroutine raised StopIteration"),
    ],
)
def test_an_error_of_a_hook_names_the_hook(hook: Any, error: str) -> None:
    with pytest.raises(HookFailed) as failure:
        run(hook)
    assert str(failure.value) == f"before_import hook {__name__}:{hook.__name__}: {error}"
    assert failure.value.__cause__ is not None


def test_a_hanging_asynchronous_hook_is_cancelled_after_its_timeout() -> None:
    async def hangs(call: HookCall) -> None:
        await asyncio.Event().wait()

    with pytest.raises(HookFailed, match=r"after_import hook .*hangs did not end within 0\.05 s"):
        run(hangs, timeout_s=0.05, hook=Hook.AFTER_IMPORT)


def test_a_timeout_raised_by_a_hook_is_an_error_like_any_other() -> None:
    async def times_out(call: HookCall) -> None:
        raise TimeoutError("no answer from the cache")

    with pytest.raises(HookFailed, match="TimeoutError: no answer from the cache"):
        run(times_out)


def test_the_number_of_hanging_threads_is_bounded_until_they_end() -> None:
    release = threading.Event()
    calls: list[int] = []

    def hangs(call: HookCall) -> None:
        calls.append(call.offset)
        release.wait()

    runner = HookRunner(HookSettings(after_import=hangs, timeout_s=0.02), "edge-1", "", Path("/"))

    async def call_all() -> None:
        for offset in range(STUCK_MAX):
            with pytest.raises(HookFailed, match="did not end within"):
                await runner.call(Hook.AFTER_IMPORT, PACKAGE, offset, 1)
        with pytest.raises(HookFailed, match="4 hook calls that took too long have still not ended; restart"):
            await runner.call(Hook.AFTER_IMPORT, PACKAGE, 99, 1)
        release.set()
        for thread in runner._threads:
            await asyncio.to_thread(thread.join)
        await runner.call(Hook.AFTER_IMPORT, PACKAGE, 100, 1)

    asyncio.run(call_all())
    assert calls == [0, 1, 2, 3, 100]


def test_a_hook_is_found_by_name_also_in_the_folder_of_the_configuration(module: Path) -> None:
    text = "calls = []\nclass Cache:\n    @staticmethod\n    def purge(call): calls.append(1)\n"
    (module / "shop_hooks.py").write_text(text)
    run("shop_hooks:Cache.purge", base=module)
    assert sys.modules["shop_hooks"].calls == [1]


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("no_such_module_here:purge", "ModuleNotFoundError"),
        ("json:no_such_function", "AttributeError"),
        ("json:decoder", "not a function"),
        ("broken_hooks:purge", "ZeroDivisionError"),
    ],
)
def test_a_hook_that_cannot_be_found_is_refused_before_anything_starts(where: str, problem: str, module: Path) -> None:
    (module / "broken_hooks.py").write_text("1 / 0")
    with pytest.raises(ConfigError, match=problem):
        check(HookSettings(on_invalidate=where), module, processes=False)


def test_a_function_that_cannot_be_pickled_is_refused_with_actors_in_processes() -> None:
    settings = HookSettings(after_import=lambda call: None)
    check(settings, Path("/"), processes=False)
    with pytest.raises(ConfigError, match=r"after_import is .*<lambda>, which cannot be sent to another process"):
        check(settings, Path("/"), processes=True)
    check(HookSettings(after_import=find("json:dumps", Path("/"))), Path("/"), processes=True)
