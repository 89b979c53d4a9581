"""The hooks that a service may have called around an import, as data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from callboard.content.importing.changes import Changes
from callboard.messages.distribution.topic_messages import Kind, Pairs

NO_CHANGES = Changes()


class Hook(StrEnum):
    """When the hook is called; the names are those of the settings."""

    BEFORE_IMPORT = "before_import"
    """Before the content of an ADD or DELETE changes. If it fails, the attempt fails and nothing changes."""
    AFTER_IMPORT = "after_import"
    """After the content is in the repository. If it fails, the content stays, and only the hook is called again."""
    ON_INVALIDATE = "on_invalidate"
    """In place of the import of an INVALIDATE. If it fails, the attempt fails."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """The argument of a hook. A hook may be called again for the same package: after a failure, and after a crash.

    ``subscriber``, ``hook`` and ``offset`` stay the same then, so together they identify a repeated call.
    ``attempt`` counts from 1. ``into`` is the repository: an absolute path if it is a folder. ``changes`` are the paths
    that the import wrote and removed, for a hook after it; empty for a hook before it.
    """

    hook: Hook
    kind: Kind
    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]
    package_id: str
    publisher: str
    offset: int
    subscriber: str
    into: str = field(repr=False)
    metadata: Pairs
    attempt: int
    changes: Changes = NO_CHANGES


HookFunction = Callable[[HookCall], object]
"""Synchronous or asynchronous. It has failed if it raises."""


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The hooks of a subscriber: each a function, or the location of one, as ``module:function``.

    A call that takes longer than ``timeout_s`` fails. A post-import hook is given up after ``max_retries + 1``
    calls; with ``max_retries`` below zero never.
    """

    before_import: HookFunction | str = ""
    after_import: HookFunction | str = ""
    on_invalidate: HookFunction | str = ""
    timeout_s: float = 60.0
    max_retries: int = 10

    def function(self, hook: Hook) -> HookFunction | str:
        """The function to call."""
        chosen: HookFunction | str = getattr(self, hook.value)
        return chosen


class Hooks(Protocol):
    """Calls the hooks of one subscriber."""

    def has(self, hook: Hook) -> bool:
        """Whether there is a hook to call."""
        ...

    async def call(
        self, hook: Hook, package: "Concerned", offset: int, attempt: int, changes: Changes = NO_CHANGES
    ) -> None:
        """Call this hook, if there is one. Raises ``HookFailed``."""
        ...


class Concerned(Protocol):
    """The package that a hook is called for: a package message, or what the ledger keeps of one."""

    @property
    def kind(self) -> Kind:
        """What the package asks for."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it is about."""
        ...

    @property
    def deep_paths(self) -> tuple[str, ...]:
        """Those of the paths that mean the whole tree."""
        ...

    @property
    def package_id(self) -> str:
        """Its identity."""
        ...

    @property
    def publisher(self) -> str:
        """Who published it."""
        ...

    @property
    def metadata(self) -> Pairs:
        """The metadata that the publisher added."""
        ...
