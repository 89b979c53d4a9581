"""Calls a subscriber's hooks: finds them by name, bounds their time, and keeps them off the event loop."""

import asyncio
import inspect
import pickle
import threading
from collections.abc import Awaitable
from functools import cache, partial
from pathlib import Path
from typing import Any

from callboard.actors.core.hooks import NO_CHANGES, Concerned, Hook, HookCall, HookFunction, HookSettings
from callboard.backends.echo import harmless, masked, quoted
from callboard.board.connect.functions.imported import imported
from callboard.board.connect.functions.thread import started
from callboard.content.importing.changes import Changes
from callboard.errors import ConfigError, HookFailed

STUCK_MAX = 4
"""Threads of calls that timed out and still run: a thread cannot be killed, so at this number no more are started."""


class HookRunner:
    """The hooks of one subscriber; see ``callboard.actors.core.hooks.Hooks``.

    An asynchronous hook is awaited on the event loop and cancelled at its timeout. Any other runs in a thread of its
    own, which continues past the timeout until the hook returns or the process ends.

    Args:
        settings: which functions, and their timeout.
        subscriber: the subscriber's name.
        into: its repository, as passed to the hooks.
        base: a folder that is searched for modules that are not installed.
    """

    def __init__(self, settings: HookSettings, subscriber: str, into: str, base: Path) -> None:
        self._settings = settings
        self._subscriber = subscriber
        self._into = into
        self._base = base
        self._threads: list[threading.Thread] = []

    def has(self, hook: Hook) -> bool:
        """Whether this hook is configured."""
        return bool(self._settings.function(hook))

    async def call(
        self, hook: Hook, package: Concerned, offset: int, attempt: int, changes: Changes = NO_CHANGES
    ) -> None:
        """Call this hook, if there is one. Raises ``HookFailed``."""
        chosen = self._settings.function(hook)
        if not chosen:
            return
        call = HookCall(
            hook=hook,
            kind=package.kind,
            paths=package.paths,
            deep_paths=package.deep_paths,
            package_id=package.package_id,
            publisher=package.publisher,
            offset=offset,
            subscriber=self._subscriber,
            into=self._into,
            metadata=package.metadata,
            attempt=attempt,
            changes=changes,
        )
        title = f"{hook} hook {_name(chosen)}"
        timeout = asyncio.timeout(self._settings.timeout_s)
        try:
            async with timeout:
                function = find(chosen, self._base) if isinstance(chosen, str) else chosen
                await self._run(function, call, title)
        except HookFailed:
            raise
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
                raise
            if timeout.expired():
                raise HookFailed(f"{title} did not end within {self._settings.timeout_s:g} s") from error
            raise self._failed(title, error) from harmless(error, self._into)

    def _failed(self, title: str, error: BaseException) -> HookFailed:
        """Hide passwords: the hook got the repository's URL, and its error goes on the log."""
        return HookFailed(f"{title}: {type(error).__name__}: {masked(error, self._into)}")

    async def _run(self, function: HookFunction, call: HookCall, title: str) -> None:
        if inspect.iscoroutinefunction(function):
            result: object = function(call)
        else:
            result = await self._in_thread(function, call, title)
        if isinstance(result, Awaitable):
            await result

    async def _in_thread(self, function: HookFunction, call: HookCall, title: str) -> object:
        """Run it in a daemon thread: a hook that never returns must not keep the process alive."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if len(self._threads) >= STUCK_MAX:
            raise HookFailed(
                f"{title} is not called: {STUCK_MAX} hook calls that took too long have still not ended; "
                "restart the subscriber to end them"
            )
        thread, ended = started(f"hook:{call.hook}", function, call)
        self._threads.append(thread)
        result, error = await ended
        if isinstance(error, Exception):
            raise error
        if error is not None:  # such as KeyboardInterrupt, which would end the event loop
            raise self._failed(title, error) from harmless(error, self._into)
        return result


def _is_being_cancelled() -> bool:
    """Whether this task is being cancelled; if not, what it awaited was."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def check(settings: HookSettings, base: Path, *, processes: bool) -> None:
    """Find all hooks, before anything is started.

    Raises:
        ConfigError: a hook cannot be found, is not a function, or cannot be sent to another process.
    """
    for hook in Hook:
        chosen = settings.function(hook)
        if isinstance(chosen, str):
            if chosen:
                find(chosen, base)
        elif processes and not _can_travel(chosen):
            raise ConfigError(
                f"{hook} is {_name(chosen)}, which cannot be sent to another process; define it at the top level of a "
                'module that can be imported, or use runtime="embedded"'
            )


@cache
def find(where: str, base: Path) -> HookFunction:
    """The function at ``module:function``; the module is installed, or in the folder ``base``.

    Raises:
        ConfigError: it cannot be imported, or is not there.
    """
    found = imported(where, base, "hook")
    if not callable(found):
        raise ConfigError(f"hook {quoted(where)} is {quoted(found)}, not a function")
    function: HookFunction = found
    return function


def _can_travel(function: HookFunction) -> bool:
    try:
        return b"__main__" not in pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def _name(chosen: HookFunction | str) -> str:
    if isinstance(chosen, str):
        return chosen
    function: Any = chosen.func if isinstance(chosen, partial) else chosen
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', function)}"
