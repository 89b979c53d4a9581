"""What stands in a subscriber's way, in words, and the commands that help."""

from collections.abc import Iterator
from shlex import quote

from callboard.app.views import Remedy, SubscriberStatus, Trouble


def troubles(row: SubscriberStatus) -> tuple[Trouble, ...]:
    """All that is worth saying of a subscriber beside its figures; nothing for one that is well."""
    return tuple(trouble for source in (_absence, _state, _errors) for trouble in source(row))


def why(row: SubscriberStatus) -> str:
    """The same in a line, with the commands."""
    told = [trouble.what for trouble in row.troubles]
    told += [f"`{remedy.command}` {remedy.does}" for trouble in row.troubles for remedy in trouble.remedies]
    return "; ".join(told)


def _absence(row: SubscriberStatus) -> Iterator[Trouble]:
    last = f"was {row.state} when last heard of" + (f": {row.reason}" if row.reason else "")
    where = f"process {row.pid} on {row.host or 'an unknown host'}"
    match row.liveness:
        case "silent":
            yield Trouble(f"{last}; look for {where}, and at the network between it and the log")
        case "gone":
            yield Trouble(
                f"{last}; it ran as {where}, and nothing waits for it any more",
                (Remedy(f"callboard forget {quote(row.name)} --reason TEXT", "if it never comes back"),),
            )
        case "stopped" if row.lag_packages > 0:
            yield Trouble(
                row.reason or "said goodbye with packages before it; nothing waits for it",
                (
                    Remedy(f"callboard run subscriber {quote(row.name)} --into {_place(row)}", "goes on"),
                    Remedy(f"callboard forget {quote(row.name)} --reason TEXT", "if it never comes back"),
                ),
            )


def _state(row: SubscriberStatus) -> Iterator[Trouble]:
    if row.liveness != "live":
        return
    name = quote(row.name)
    head = [Remedy(f"callboard retry {name}", "tries it again now")]
    if row.editable:
        head.append(Remedy(f"callboard skip {name} --reason TEXT", "passes it over for good"))
    match row.state:
        case "blocked":
            yield Trouble(f"{_head(row)} cannot be imported: {row.reason}", tuple(head))
        case "retrying":
            yield Trouble(f"{_head(row)}: {row.reason or row.last_error}", tuple(head))
        case "gap":
            yield Trouble(
                row.reason,
                (
                    Remedy("callboard publish SOURCE", "puts everything on the log again"),
                    Remedy(
                        f"callboard run subscriber {name} --into {_place(row)} --on-gap earliest",
                        "then goes on with what is there",
                    ),
                    Remedy(
                        f"callboard seed {name} --into NEW --from FILE",
                        "or begins with a snapshot, in a new place, where to run it then",
                    ),
                ),
            )
        case "staged":
            yield Trouble(
                _said(row) or f"{_head(row)} waits for the verdict of {row.golden}",
                (
                    Remedy(f"callboard queue {quote(row.golden)}", "what the golden one is at"),
                    Remedy(f"callboard retry {name} --without-golden", "imports this one package all the same"),
                ),
            )
        case "paused":
            yield Trouble(_said(row) or "was told to pause", (Remedy(f"callboard resume {name}", "goes on"),))
        case "throttled":
            yield Trouble(
                _said(row) or f"imports {row.throttle_per_min} packages a minute at most",
                (Remedy(f"callboard throttle {name} 0", "lifts the limit"),),
            )
        case "waiting":
            yield Trouble(f"{row.reason}; goes on by itself when it can")
        case "importing" if row.attempts or row.reason:
            yield Trouble(f"{_head(row)}: {row.reason or row.last_error}")
        case _ if row.reason and row.state == "idle":
            yield Trouble(row.reason)


def _errors(row: SubscriberStatus) -> Iterator[Trouble]:
    given_up = row.errors - row.held - row.hooks
    counted = ((given_up, "given up"), (row.held, "held back"), (row.hooks, "imported but for a hook that failed"))
    if parts := [f"{number} {what}" for number, what in counted if number]:
        yield Trouble(
            f"of its packages, {', '.join(parts)}",
            (Remedy(f"callboard errors {quote(row.name)}", "shows them, and what can be done"),),
        )
    if row.errors_dropped:
        yield Trouble(f"{row.errors_dropped} older failures are on the log, but memory has no room for them")


def _said(row: SubscriberStatus) -> str:
    """Its reason, without the command at its end: that is beside it here."""
    return row.reason.partition("; callboard ")[0]


def _head(row: SubscriberStatus) -> str:
    return f"package {row.head_offset}" if row.head_offset >= 0 else "the package at the head"


def _place(row: SubscriberStatus) -> str:
    return quote(row.repository) if row.repository else "PLACE"
