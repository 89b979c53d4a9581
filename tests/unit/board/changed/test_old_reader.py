"""Why a package is written as older versions read it."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.board.changed.old_reader import old_reader
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    SiteReport,
    State,
    SubscriberConfiguration,
)
from callboard.messages.headers import new_record

UNSEEN = "it is not known yet what the subscribers of site 'berlin' can read, for its relay has not seen them"


@pytest.mark.parametrize(
    ("site", "why"),
    [
        (None, "subscriber 'berlin' does not know packages that put and remove; upgrade it"),
        (SiteReport(log_id="", time_ns=1), "subscriber 'berlin', or one of its site, does not know"),
        (SiteReport(log_id=""), UNSEEN),
    ],
)
def test_the_subscriber_is_named_that_may_not_know_the_format(
    site: SiteReport | None, why: str, tmp_path: Path
) -> None:
    async def asked() -> str:
        said = DiscoveryMessage(
            subscriber_instance="s", subscriber="berlin", state=State.STOPPED, offset=-1, package_version=1,
            configuration=SubscriberConfiguration(editable=True, max_retries=-1), site=site,
        )  # fmt: skip
        async with Callboard(f"sqlite:///{tmp_path}/board.db", base=tmp_path) as board:
            topic = board.settings.topics.discovery
            await board.log.append(topic, [new_record(said, record_id="1", time_ns=1, producer="test")])
            return await old_reader(await board.context.viewer(), "main")

    assert asyncio.run(asked()).startswith(why)
