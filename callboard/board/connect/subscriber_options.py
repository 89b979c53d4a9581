"""The options of a subscriber, and the settings made from them."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.hooks import Hook, HookFunction, HookSettings
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.content.importing.target import OnOccupied

DRAIN_S = 30.0
"""Seconds for a running import to finish when the subscriber is stopped."""
HOOK_OPTIONS = (*(str(hook) for hook in Hook), "hook_timeout_s", "hook_max_retries")


class SubscriberOptions(TypedDict, total=False):
    """Options of a subscriber, with the meaning and the defaults of ``SubscriberSettings`` and ``HookSettings``.

    ``expect`` allows publishers to follow, and a golden subscriber to wait for, that are not known yet.
    ``stop_drain_s`` is how many seconds a running import or hook gets to finish when the subscriber is stopped.
    """

    follows: tuple[str, ...]
    expect: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    editable: bool
    max_retries: int
    on_give_up: Literal["skip", "quarantine", "block"]
    coalesce: bool
    parallel: int
    start: Literal["earliest", "latest"] | int
    on_gap: Literal["fail", "earliest"]
    on_occupied: OnOccupied
    on_undecodable: Literal["block", "dead_letter"]
    golden: str
    skip_commands: tuple[int, ...]
    retry: Backoff
    announce_interval_s: float
    claim_ttl_s: float
    outbox_max: int
    standby: bool
    before_import: HookFunction | str
    after_import: HookFunction | str
    on_invalidate: HookFunction | str
    hook_timeout_s: float
    hook_max_retries: int
    ready_idle_s: float
    ready_max_age_s: float
    ready_force_s: float
    stop_drain_s: float


def subscriber_settings(options: Mapping[str, Any], **given: Any) -> SubscriberSettings:
    """The settings for these options, which the door has already checked."""
    plain: dict[str, Any] = dict(options)
    for own in ("stop_drain_s", "expect"):
        plain.pop(own, None)
    named = {name.removeprefix("hook_"): plain.pop(name) for name in HOOK_OPTIONS if name in plain}
    return SubscriberSettings(**given, **plain, hooks=HookSettings(**named))
