"""What an importer does next: after each input, every step in order, if it is due."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from callboard.actors.core.decision import Reply, Send, Stopped
from callboard.actors.core.effects import FindBounds
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.importing.parts import Parts
from callboard.actors.subscriber.ledger.ledger_state import Decided
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.reporting import announcement
from callboard.messages.distribution.mailbox import Settled
from callboard.messages.distribution.topic_messages import State

LOOK = "look"
LOOK_S = 1.0
"""Between attempts to find the bounds of a log that fails."""
REPORT = "report"
REPORT_S = 0.2
"""Reports to the announcer are collected for this long."""
SETTLE = "settle"
SETTLE_S = 1.0
"""Changes that are not urgent are stored after this long, without a sync to disk."""

STUCK = (State.BLOCKED, State.GAP, State.PAUSED)
"""The states that last until someone acts: a caller that waits for the end of the log is answered in them."""


class Step(NamedTuple):
    """One thing to do, and whether it is due. A step may find that there is nothing to do."""

    name: str
    applies: Callable[[Parts], object]
    take: Callable[[Parts], Iterable[Decided]]


def take(steps: Iterable[Step], it: Parts) -> Iterator[Decided]:
    """Take all steps that are due, in order."""
    for step in steps:
        if step.applies(it):
            yield from step.take(it)


def first(steps: Iterable[Step], it: Parts) -> tuple[Step, ...]:
    """The first step that is due, if any."""
    return next(((step,) for step in steps if step.applies(it)), ())


def _always(_: Parts) -> bool:
    return True


def _stop(it: Parts) -> Iterator[Decided]:
    if it.hooks.running:
        return
    if it.startup.open and (it.state.dirty or it.state.urgent):
        yield it.state.save(durable=True)
        return
    yield Send(roles.STATUS_SENDER, replace(it.state.pending(above=0), last=True))
    if it.introduced:
        it.enter(*it.condition.stopped())
        yield Send(roles.ANNOUNCER, it.report())
    yield Stopped()


def _store(it: Parts) -> Iterator[Decided]:
    yield it.state.save(durable=True)


def _read(it: Parts) -> Iterator[Decided]:
    it.backlog.begin(it.state.ledger.log_id, it.state.ledger.offset + 1)
    if not it.inbox.listening:
        yield from it.inbox.listen(it.state.ledger)


def _look(it: Parts) -> Iterator[Decided]:
    if it.caught_up.curious or it.inbox.curious or (it.startup.wants_bounds and not it.state.busy):
        it.looking = True
        it.caught_up.look()
        it.inbox.look()
        yield FindBounds(it.settings.topics.package)


def _observe(it: Parts) -> Iterator[Decided]:
    news = it.site is not None and it.site.report is not it.surveyed
    if it.observe() or it.state.ledger is not it.reported or news:
        yield from it.arm(REPORT, REPORT_S)


def _answer(it: Parts) -> Iterator[Decided]:
    reached, stuck = it.backlog.reached if it.backlog.reading else -1, it.condition.state in STUCK
    trying = it.hooks.hopeful or quarantine.due(it.state.ledger) is not None
    for origin, done in it.caught_up.settled(reached, trying=trying, stuck=stuck):
        report = it.report()
        yield Send(roles.ANNOUNCER, report)  # the caller is about to look at it
        left = announcement.unfinished(it.state.ledger)
        yield Reply(origin, Settled(announcement=report.announcement, reached=done, unfinished=left))


def _speak(it: Parts) -> Iterator[Decided]:
    if it.site is not None:
        yield from it.site.work(it.now)


def _introduce(it: Parts) -> Iterator[Decided]:
    it.introduced = True
    yield Send(roles.ANNOUNCER, it.report())


WORK = (
    Step("count a call of a hook", _always, lambda it: it.hooks.choose(it.now)),
    Step(
        "try a held package",
        lambda it: not it.state.busy,
        lambda it: it.progress.time(it.held.work(it.now), it.backlog, it.now),
    ),
    Step("import the next", _always, lambda it: it.progress.follow(it.head.work(it.now), it.backlog, it.now)),
    Step("ask for verdicts", _always, lambda it: it.golden.wish(it.state.ledger.offset) if it.golden else ()),
    Step("store what was passed over", lambda it: it.state.urgent and not it.state.busy, _store),
)
"""All of these are taken, as far as the repository is free."""

USES = (
    Step("stop", lambda it: it.stopping, _stop),
    Step("store what is urgent", lambda it: it.startup.open and it.state.urgent, _store),
    Step("begin to read", lambda it: it.startup.complete and not it.backlog.reading, _read),
    Step(
        "hear commands without a place",
        lambda it: it.startup.open and it.startup.admitted and it.startup.gap and not it.inbox.listening,
        lambda it: it.inbox.listen(it.state.ledger),
    ),
    Step("work on packages", lambda it: it.startup.complete and it.inbox.settled, lambda it: take(WORK, it)),
)
"""Uses of the repository: only the first that applies."""

STEPS = (
    Step("call a hook", lambda it: it.startup.complete and not it.stopping, lambda it: it.hooks.start()),
    Step("change what has waited", lambda it: it.startup.open and not it.state.busy, lambda it: it.state.catch_up()),
    Step(
        "carry out commands",
        lambda it: it.startup.open and it.startup.admitted and not it.state.busy and not it.stopping,
        lambda it: it.commands.carry_out(it.now),
    ),
    Step("use the repository", lambda it: not it.state.busy, lambda it: take(first(USES, it), it)),
    Step("read what was given up", _always, lambda it: it.given_up.wish()),
    Step("look for the bounds", lambda it: not it.looking and LOOK not in it.timers, _look),
    Step("ask for packages", lambda it: it.backlog.reading, lambda it: it.backlog.wish()),
    Step("speak for the site", lambda it: it.site and it.startup.found and not it.stopping, _speak),
    Step("observe", lambda it: it.introduced and not it.stopping, _observe),
    Step("tell statuses", _always, lambda it: it.mail.send(it.state)),
    Step("answer who waits", lambda it: it.inbox.settled, _answer),  # commands come first
    Step("introduce itself", lambda it: it.state.named and not it.introduced, _introduce),
    Step(
        "store the rest later",
        lambda it: it.introduced and not it.stopping and it.state.dirty and not it.state.busy,
        lambda it: it.arm(SETTLE, SETTLE_S),
    ),
)
"""All of these are taken after each input."""
