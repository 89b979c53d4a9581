"""The spans of imports, and of the hooks that follow them; see docs/tracing.md."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from callboard.actors.subscriber.effects import ImportPackages
from callboard.messages.distribution.ledger import HookDue
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.telemetry.spans import NOTHING, OUTCOME, Attributes, Span, consuming, following, is_traced


@contextmanager
def import_spans(effect: ImportPackages) -> Iterator[Sequence[Span]]:
    """A span for each package of the import."""
    if not is_traced():
        yield (NOTHING,) * len(effect.packages)
        return
    subscriber, attempt = effect.ledger.subscriber, effect.attempt.attempts if effect.alone else 1
    its = {"messaging.consumer.group.name": subscriber, "callboard.subscriber": subscriber}
    packages = zip(effect.packages, effect.traces, effect.offsets, strict=True)
    found = [(each.publisher, trace, {**_about(each, at, attempt), **its}) for each, trace, at in packages]
    with consuming("import", found) as spans:
        yield spans
        for span in spans:
            span.set({OUTCOME: "imported"})


def hook_span(due: HookDue) -> AbstractContextManager[Span]:
    """The span of the hook after an import, a child of the import's."""
    return following("hook", due.publisher, due.traceparent, _about(due, due.offset, due.attempts))


def _about(package: PackageMessage | HookDue, offset: int, attempt: int) -> Attributes:
    return {
        "messaging.message.id": package.package_id, "callboard.publisher": package.publisher,
        "callboard.offset": offset, "callboard.kind": package.kind.name, "callboard.attempt": attempt,
    }  # fmt: skip
