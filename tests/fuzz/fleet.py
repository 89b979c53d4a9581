"""The subscribers of a board under hostile records, and what is listened to meanwhile."""

from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog
from hostile import packed

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.hooks import HookCall
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.backends.logs import limits
from callboard.board.connect.settings import BoardSettings
from callboard.messages.signing import SigningKey

CRASHES = ("actor.crashed", "supervisor.crashed", "gateway.failed", "agent.close_failed")
QUICK = Backoff(first_s=0.01, max_s=0.05)
SHORT = ShorteningLimits(
    records=2000, slack=500, announced_s=90.0, told_s=30.0, first_s=(0.0, 30.0), again_s=(300.0, 600.0)
)
"""So that topics are shortened now and then while hostile records are on them."""
KEY = SigningKey("ops", b"k" * 32)


def hooked(call: HookCall) -> None:
    """A hook that reads its arguments."""
    repr(call)


FLEET: dict[str, dict[str, Any]] = {
    "golden": {"into": "sqlite:golden.sqlite", "editable": True, "max_retries": 1},
    "edge": {"into": "edge", "editable": True, "max_retries": 1, "on_give_up": "quarantine"},
    "reader": {"into": "sqlite:reader.sqlite", "max_retries": 0},
    "staged": {"into": "sqlite:staged.sqlite", "editable": True, "max_retries": 1, "golden": "golden"},
    "hooked": {"into": "sqlite:hooked.sqlite", "editable": True, "max_retries": 1, "follows": ("site", "shop"),
               "before_import": hooked, "after_import": hooked, "on_invalidate": hooked, "hook_max_retries": 1},
    "strict": {"into": "sqlite:strict.sqlite", "editable": True, "max_retries": 1, "on_give_up": "block",
               "on_undecodable": "block"},
}  # fmt: skip
COMMON = {
    "on_undecodable": "dead_letter",
    "retry": QUICK,
    "announce_interval_s": 1.0,
    "claim_ttl_s": 30.0,
    "expect": True,
}


@dataclass
class Logged:
    """What is logged meanwhile: crashes are kept, the rest is counted."""

    crashes: list[MutableMapping[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, _logger: Any, _name: str, line: MutableMapping[str, Any]) -> Any:
        self.counts[line["event"]] += 1
        if line["event"] in CRASHES:
            self.crashes.append(dict(line))
        raise structlog.DropEvent


@contextmanager
def listening() -> Iterator[Logged]:
    """What callboard logs goes here, and what logs accept of headers is anything."""
    logged, settings, shortening = Logged(), structlog.get_config(), BoardSettings.shortening
    structlog.configure(processors=[logged])
    before, limits.pack_headers = limits.pack_headers, packed
    BoardSettings.shortening = property(lambda self: SHORT)  # type: ignore[assignment]
    try:
        yield logged
    finally:
        BoardSettings.shortening = shortening  # type: ignore[method-assign]
        limits.pack_headers = before
        structlog.configure(**settings)
