"""A subscriber's announcement, built from its ledger and its condition."""

from collections.abc import Iterable
from itertools import accumulate

from callboard.actors.subscriber.hooks.hooks_due import failing
from callboard.actors.subscriber.reporting.condition import Condition, Failure
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.ledger import GivenUp, HeldPackage, HookDue, Ledger
from callboard.messages.distribution.mailbox import Report, Unfinished
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    SubscriberConfiguration,
    SubscriberState,
)

LEFT_MAX = 20
"""Unfinished packages that are announced, the newest: a caller that waits for a package looks for it there, and an
announcement is repeated every ten seconds."""


STATED_CHARS_MAX = 100_000
"""Characters of publisher names announced with its position: as many as it may follow by name. Publishers merely seen
may need more, since any writer can use any name."""


def report(
    settings: SubscriberSettings, ledger: Ledger, condition: Condition, failure: Failure, tries: int, met: Iterable[str]
) -> Report:
    """The announcement as far as the importer knows it. One offset serves all publishers: the log has one order."""
    attempts = max(ledger.attempts, tries) if failure.error or ledger.attempts else 0
    hook = failing(ledger)
    message = DiscoveryMessage(
        subscriber_instance=ledger.instance,
        subscriber=settings.name,
        states=tuple(
            SubscriberState(publisher=publisher, offset=ledger.offset, retries=attempts)
            for publisher in _stated(settings.follows, met)
        ),
        configuration=SubscriberConfiguration(
            editable=settings.editable,
            max_retries=settings.max_retries,
            follows=settings.follows,
            repository=settings.shown_repository,
            golden=settings.golden,
            on_give_up=settings.on_give_up,
            include=settings.include,
            exclude=settings.exclude,
        ),
        state=condition.state,
        reason=condition.reason,
        offset=ledger.offset,
        log_id=ledger.log_id,
        attempts=attempts,
        last_error=failure.error or ledger.last_error,
        since_ns=condition.since_ns,
        next_try_ns=failure.next_try_ns,
        command_offset=ledger.command_offset,
        cleared=ledger.cleared,
        imported=ledger.imported,
        held=len(ledger.held),
        superseded=ledger.superseded,
        skipped=ledger.skipped,
        hooks=len(ledger.hooks),
        throttle_per_min=ledger.throttle_per_min,
        announce_interval_ms=int(settings.announce_interval_s * 1000),
        held_offset=min((package.offset for package in ledger.held), default=-1),
        hook_offset=hook.offset if hook else -1,
        hook_attempts=hook.attempts if hook else 0,
        hook_error=hook.last_error if hook else "",
        left=tuple(each.offset for each in unfinished(ledger)[-LEFT_MAX:]),
    )
    return Report(announcement=message)


def _stated(follows: tuple[str, ...], met: Iterable[str]) -> tuple[str, ...]:
    """The publishers that its position is announced for, sorted: those it follows, and as many others as fit."""
    names = (*follows, *sorted(set(met).difference(follows)))
    sizes = accumulate(map(len, names))
    return tuple(sorted(name for name, size in zip(names, sizes, strict=True) if size <= STATED_CHARS_MAX))


def unfinished(ledger: Ledger) -> tuple[Unfinished, ...]:
    """The unfinished packages before its position, in the order of the log."""
    found = [
        *(_unfinished("given_up", each) for each in ledger.given_up),
        *(_unfinished("held", each, each.attempts, each.reason) for each in ledger.held),
        *(_unfinished("hook_due", each, each.attempts, each.last_error) for each in ledger.hooks),
        *(_unfinished("hook_failed", each, each.attempts, each.last_error) for each in ledger.failed_hooks),
    ]
    return tuple(sorted(found, key=lambda each: each.offset))


def _unfinished(what: str, each: GivenUp | HeldPackage | HookDue, attempts: int = 0, reason: str = "") -> Unfinished:
    return Unfinished(
        what=what,
        offset=each.offset,
        publisher=each.publisher,
        package_id=each.package_id,
        attempts=attempts,
        reason=reason,
    )
