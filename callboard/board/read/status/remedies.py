"""Who stands still or needs an operator, why, and the commands that help; used by every view of a board."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote

from callboard.backends.address import HIDDEN
from callboard.board.views import PublisherStatus, Remedy, SubscriberStatus, Trouble
from callboard.units import age, count

STARTING_S = 60.0
"""Seconds: a subscriber opens its repository and claims its name within that."""
IDLE_S = 60.0
"""Age in seconds of the oldest queued package at an idle subscriber: it should have noticed it within seconds."""
WITH_HOOK = "; add the --after-import that it had, unless callboard.toml has it"
"""Subscribers do not announce what their hooks are."""
STOPPED_AT_A_GAP = "was gap: "
"""How a subscriber's reason begins if it stops there."""


def troubles(row: SubscriberStatus, fleet: Mapping[str, SubscriberStatus]) -> tuple[Trouble, ...]:
    """Everything noteworthy about a subscriber beyond its figures; nothing for a healthy one.

    ``fleet`` has the others by name: whether a staged subscriber continues by itself depends on its golden one.
    """
    golden = fleet.get(row.golden) if row.golden else None
    return (*_absence(row), *_state(row, golden), *_golden(row, golden), *_hooks(row), *_errors(row), *_site(row))


def publisher_troubles(row: PublisherStatus, blocked: Sequence[str]) -> tuple[Trouble, ...]:
    """The same for a publisher; its packages are ``blocked`` at these subscribers."""
    return tuple(_publisher(row, blocked))


def needs(found: Iterable[Trouble]) -> bool:
    """Whether an operator has to act."""
    return any(trouble.needs for trouble in found)


def why(found: Iterable[Trouble]) -> str:
    """The troubles in one line, with the commands."""
    found = tuple(found)
    parts = [trouble.what for trouble in found]
    parts += [f"`{remedy.command}` {remedy.does}" for trouble in found for remedy in trouble.remedies]
    return "; ".join(parts)


def _absence(row: SubscriberStatus) -> Iterator[Trouble]:
    last = f"was {row.state} when last heard of" + (f": {row.reason}" if row.reason else "")
    where = f"process {row.pid} on {row.host or 'an unknown host'}"
    match row.liveness:
        case "silent":
            yield Trouble(f"{last}; check {where}, and its network to the log")
        case "stopped" if row.state == "gap" or row.reason.startswith(STOPPED_AT_A_GAP):
            yield Trouble(row.reason, _after_gap(row))
        case "gone":
            yield Trouble(
                f"{last}; it ran as {where}, and nothing waits for it any more",
                (Remedy(f"callboard forget {quote(row.name)} --reason TEXT", "if it will not return"),),
            )
        case "stopped" if row.lag_packages > 0 or row.uncounted or row.hooks_due:
            left = "packages before it" if row.lag_packages > 0 or row.uncounted else "hooks still to be called"
            yield Trouble(
                row.reason or f"stopped with {left}; nothing waits for it",
                (
                    Remedy(_run(row), "starts it again" + (WITH_HOOK if row.hooks_due else "")),
                    Remedy(f"callboard forget {quote(row.name)} --reason TEXT", "if it will not return"),
                ),
            )


def _state(row: SubscriberStatus, golden: SubscriberStatus | None) -> Iterator[Trouble]:
    if row.liveness != "live":
        return
    name = quote(row.name)
    match row.state:
        case "blocked":
            yield Trouble(f"{_head(row)} cannot be imported: {row.reason}", _about_head(row))
        case "retrying":
            yield Trouble(f"{_head(row)}: {row.reason or row.last_error}", _about_head(row))
        case "gap":
            yield Trouble(row.reason, _after_gap(row))
        case "staged":
            yield Trouble(
                _said(row) or f"{_head(row)} waits for the verdict of {row.golden}",
                (
                    Remedy(f"callboard queue {quote(row.golden)}", "shows the golden subscriber's queue"),
                    Remedy(f"callboard retry {name} --without-golden", "imports this package without a verdict"),
                ),
                needs=golden is not None and not _moves(golden),
            )
        case "paused":
            yield Trouble(
                _said(row) or "is paused by command",
                (Remedy(f"callboard resume {name}", "ends the pause"),),
                needs=row.lag_packages != 0 or row.uncounted > 0,  # with an empty queue it delays nothing
            )
        case "throttled":
            yield Trouble(
                _said(row) or f"imports at most {row.throttle_per_min} packages a minute",
                (Remedy(f"callboard throttle {name} 0", "lifts the limit"),),
            )
        case "waiting":
            yield Trouble(f"{row.reason}; continues by itself when it can")
        case "starting" if row.since_s > STARTING_S:
            yield Trouble(f"has not started yet: {row.reason}" if row.reason else "has not started yet")
        case "importing" if row.attempts or row.reason:
            yield Trouble(f"{_head(row)}: {row.reason or row.last_error}")
        case "idle" if row.reason:
            yield Trouble(row.reason)
        case "idle" if (row.site.behind if row.site else row.lag_packages) > 0 and row.lag_s > IDLE_S:
            yield Trouble("reports that it has processed everything, but has not; restart it, and check its log output")


def _golden(row: SubscriberStatus, golden: SubscriberStatus | None) -> Iterator[Trouble]:
    """A golden subscriber that does not run blocks everything, now or with the next package."""
    if row.golden and row.liveness == "live" and (golden is None or golden.liveness == "gone"):
        what = "was never heard of" if golden is None else "is gone"
        yield Trouble(
            f"waits for the verdicts of {row.golden}, which {what}",
            (Remedy(f"callboard run subscriber {quote(row.golden)} --into PLACE", "runs it"),),
        )


def _hooks(row: SubscriberStatus) -> Iterator[Trouble]:
    if row.hook_offset < 0:
        return
    times = "once" if row.hook_attempts == 1 else f"{row.hook_attempts} times"
    more = f"; {row.hooks_due} hooks are due" if row.hooks_due > 1 else ""
    name = quote(row.name)
    yield Trouble(
        f"the post-import hook of offset {row.hook_offset} failed {times}: {row.hook_error}{more}",
        (
            Remedy(f"callboard retry {name} {row.hook_offset}", "calls it again now"),
            Remedy(f"callboard skip {name} {row.hook_offset} --reason TEXT", "dismisses it: the content stays"),
        ),
    )


def _errors(row: SubscriberStatus) -> Iterator[Trouble]:
    given_up = row.errors - row.held - row.hooks
    counted = ((given_up, "given up"), (row.held, "quarantined"), (row.hooks, "imported with a failed hook"))
    if parts := [f"{number} {what}" for number, what in counted if number]:
        yield Trouble(
            f"of its packages, {', '.join(parts)}",
            (Remedy(f"callboard errors {quote(row.name)}", "shows them, and what can be done"),),
        )
    if row.errors_dropped:
        yield Trouble(f"{row.errors_dropped} older failures are only on the log")


def _site(row: SubscriberStatus) -> Iterator[Trouble]:
    if (site := row.site) is None:
        return
    shows = Remedy(f"callboard status {quote(row.name)}", "shows the site")
    if site.problem:
        known = f"its figures are {age(site.age_s)} old" if site.age_s >= 0 else "nothing is known of it yet"
        yield Trouble(f"the relay cannot look at its site, {site.place} ({site.problem}); {known}", (shows,))
    if site.needs:
        named = [f"{each.name} ({each.state})" for each in site.rows if each.needs]
        others = f", and {left} more" if (left := site.needs - len(named)) > 0 and named else ""
        which = f": {', '.join(named)}{others}" if named else ""
        need = "needs" if site.needs == 1 else "need"
        yield Trouble(
            f"{site.needs} of the {count(site.subscribers, 'subscriber')} of the site {need} an operator{which}",
            (shows,),
        )
    elif site.errors:
        yield Trouble(f"{count(site.errors, 'package')} in the error queues of the site", (shows,))


def _publisher(row: PublisherStatus, blocked: Sequence[str]) -> Iterator[Trouble]:
    for each in row.held_up:
        yield Trouble(
            f"requests are held up by {each.subscriber}, which is {each.backlog} packages behind",
            (Remedy(f"callboard queue {quote(each.subscriber)}", "shows its queue"),),
        )
    if row.state == "blocked":
        yield Trouble(
            f"its packages are blocked at {', '.join(blocked)}",
            tuple(Remedy(f"callboard queue {quote(name)}", "shows its queue") for name in blocked[:1]),
        )


def _moves(row: SubscriberStatus) -> bool:
    """Whether it will reach the next verdict by itself."""
    stuck = ("blocked", "gap", "paused", "waiting", "staged")
    return row.liveness == "live" and row.queue != "blocked" and row.state not in stuck


def _about_head(row: SubscriberStatus) -> tuple[Remedy, ...]:
    name = quote(row.name)
    again = Remedy(f"callboard retry {name}", "retries it now")
    skip = Remedy(f"callboard skip {name} --reason TEXT", "skips it for good")
    return (again, skip) if row.editable else (again,)


def _after_gap(row: SubscriberStatus) -> tuple[Remedy, ...]:
    name = quote(row.name)
    again = (
        Remedy("callboard publish SOURCE --full", "publishes everything again"),
        Remedy(f"{_run(row)} --on-gap earliest", "then continues with what is on the log"),
    )
    seed = f"callboard seed {name} --into NEW --from FILE"
    if row.site is not None:
        return again
    return (*again, Remedy(seed, "or starts from a snapshot, in a new place; then run it there"))


def _said(row: SubscriberStatus) -> str:
    """Its reason, without the command at the end, which is shown beside it here."""
    return row.reason.partition("; callboard ")[0]


def _head(row: SubscriberStatus) -> str:
    return f"package {row.head_offset}" if row.head_offset >= 0 else "the package at the head"


def _run(row: SubscriberStatus) -> str:
    """Runs it as last announced: without its ``--follow`` it would import packages not meant for it."""
    is_url = "://" in row.repository or HIDDEN in row.repository  # which is not shown in full
    place = "PLACE" if is_url or not row.repository else quote(row.repository)
    words = [quote(row.name), "--into" if row.site is None else "--to URL --ledger", place]
    named = (("follow", row.follows), ("include", row.include), ("exclude", row.exclude))
    words += [f"--{flag} {quote(value)}" for flag, values in named for value in values]
    words += ["--editable"] if row.editable else []
    words += [f"--golden {quote(row.golden)}"] if row.golden else []
    words += [f"--max-retries {row.max_retries}"] if row.max_retries >= 0 and row.site is None else []
    return " ".join(("callboard run", "subscriber" if row.site is None else "relay", *words))
