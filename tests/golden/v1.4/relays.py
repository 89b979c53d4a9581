"""What a relay says of its site."""

from callboard.messages.distribution.topic_messages import SiteReport, SiteSubscriber, StateCount

WORST = SiteSubscriber(
    name="lima/edge-7", state="blocked", reason="no such file", offset=41, packages=2,
    oldest_ns=1_700_000_000_000_000_000, attempts=3, errors=1, needs=True, editable=True,
)  # fmt: skip
COUNTS = StateCount(state="idle", subscribers=29), StateCount(state="blocked", subscribers=1)

INSTANCES = (
    WORST,
    COUNTS[0],
    SiteReport(
        log_id="l-2", place="sqlite:///./berlin.db", logs=("l-2", "l-3"), relayed=43, offset=41,
        oldest_ns=1_700_000_000_000_000_000, subscribers=30, counts=COUNTS, needs=1, errors=1, worst=(WORST,),
        time_ns=1_700_000_001_000_000_000, problem="the log does not answer", package_version=2,
    ),
)  # fmt: skip
