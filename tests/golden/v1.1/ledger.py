"""What the bytes beside this file stand for: what version 1.1 added to ledger.py. Written once, never changed."""

from callboard.messages.distribution.ledger import GivenUp, HeldPackage, HookDue, Ledger, Watermark
from callboard.messages.distribution.topic_messages import CommandResultMessage, Kind

HELD = HeldPackage(
    offset=40,
    publisher="site",
    package_id="p-16",
    kind=Kind.ADD,
    paths=("/docs/a",),
    deep_paths=("/docs/a",),
    attempts=4,
    reason="out of space",
    waits_for=38,
    time_ns=1_700_000_000_000_000_006,
    due=True,
)
HOOK = HookDue(
    offset=41,
    publisher="site",
    package_id="p-17",
    kind=Kind.INVALIDATE,
    paths=("/docs/b",),
    deep_paths=("/docs/b",),
    attempts=1,
    last_error="the cache did not answer",
    metadata=(("why", "news"),),
    told=True,
)

MARK = Watermark(
    publisher="site", offset=50, author="ada", reason="superseded", command_id="c-4", command_offset=8, packages=3
)

LOST = GivenUp(offset=37, publisher="site", package_id="p-15")

INSTANCES = (
    LOST,
    HELD,
    HOOK,
    MARK,
    Ledger(
        instance="0b7f",
        subscriber="edge-1",
        log_id="l-1",
        positioned=True,
        offset=41,
        record_id="r-5",
        paused_by="ada",
        pause_reason="maintenance",
        throttle_per_min=150,
        held=(HELD,),
        results=(
            CommandResultMessage(
                subscriber_instance="0b7f", subscriber="edge-1", command_id="c-3", command_offset=7, accepted=False
            ),
        ),
        hooks=(HOOK,),
        superseded=3,
        skipped=4,
        command_ids=("1700000000000000007/c-2", "0/c-3"),
        clears=(MARK,),
        command_horizon_ns=1_700_000_000_000_000_005,
        without_golden=42,
        apart_until=43,
        given_up=(LOST,),
        failed_hooks=(HOOK,),
        command_time_ns=1_700_000_000_000_000_006,
    ),
)
