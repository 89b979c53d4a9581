"""What a subscriber says about itself, put together from its ledger and its condition."""

from collections.abc import Iterable

from callboard.actors.subscriber.condition import Condition
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution import (
    DiscoveryMessage,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import Report


def report(
    settings: SubscriberSettings, ledger: Ledger, condition: Condition, *, tries: int, publishers: Iterable[str]
) -> Report:
    """The announcement as far as the importer knows it. One offset serves all publishers: the log has one order."""
    attempts = max(ledger.attempts, tries) if condition.failure or ledger.attempts else 0
    message = DiscoveryMessage(
        subscriber_instance=ledger.instance,
        subscriber=settings.name,
        states=tuple(
            SubscriberState(publisher=publisher, offset=ledger.offset, retries=attempts)
            for publisher in sorted(publishers)
        ),
        configuration=SubscriberConfiguration(
            editable=settings.editable,
            max_retries=settings.max_retries,
            follows=settings.follows,
            repository=settings.shown_repository,
            golden=settings.golden,
            on_give_up=settings.on_give_up,
        ),
        state=condition.state,
        reason=condition.reason,
        offset=ledger.offset,
        log_id=ledger.log_id,
        attempts=attempts,
        last_error=condition.failure or ledger.last_error,
        since_ns=condition.since_ns,
        next_try_ns=condition.next_try_ns,
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
    )
    return Report(announcement=message)
