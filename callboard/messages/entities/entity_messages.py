"""Messages on the topic of an entity class."""

from dataclasses import dataclass

from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredEvent(Event):
    """An event that a service declared: its name, its version, and its bytes."""

    name: str
    version: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityCommitMessage(Event):
    """What one command did to the entity ``key``, all or nothing.

    It counts only if ``previous`` is the id of the entity's last commit that counts; 0 if there is none. So of two
    keepers that did not know of each other the first on the log wins, and a commit that is appended twice counts once.
    The ``commit_id`` is random: two keepers may have the same command, and decide it differently. ``version`` is the
    number of commits before it. With ``ended`` the entity is deleted: a commit after it creates a new one.

    A commit without events records that its command changed nothing or, with ``reason`` and ``code``, was refused.
    """

    key: str
    commit_id: int
    previous: int = 0
    version: int = 0
    command_id: str
    events: tuple[DeclaredEvent, ...] = ()
    ended: bool = False
    reason: str = ""
    code: str = ""
