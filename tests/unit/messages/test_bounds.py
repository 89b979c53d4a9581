"""Bounds of messages: everything that the door accepts fits, and little more."""

import pytest

from callboard.door import limits
from callboard.errors import Undecodable
from callboard.messages import bounds
from callboard.messages.bounds import bounded, clipped, fitted
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    LogMessage,
    PackageMessage,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.event import replaced

PACKAGE = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.DELETE)
SAID = DiscoveryMessage(
    subscriber_instance="i", subscriber="edge-1", configuration=SubscriberConfiguration(editable=True, max_retries=1)
)


def test_the_decoder_accepts_what_the_door_accepts() -> None:
    assert limits.NAME_CHARS_MAX <= limits.ID_CHARS_MAX <= bounds.ID_CHARS_MAX
    assert max(limits.TEXT_CHARS_MAX, limits.PLACE_CHARS_MAX, limits.ID_CHARS_MAX) <= bounds.TEXT_CHARS_MAX
    assert max(limits.NAMES_MAX, limits.FOLLOWS_MAX) <= bounds.NAMES_MAX
    most = replaced(
        PACKAGE,
        publisher="\U0001f600" * limits.NAME_CHARS_MAX,
        request_id="x" * limits.ID_CHARS_MAX,
        user="\n\x1b" * (limits.ID_CHARS_MAX // 2),
        recipients=("edge-1",) * limits.NAMES_MAX,
        metadata=(("k", "\x01" * limits.TEXT_CHARS_MAX),),
    )
    assert bounded(most) is most
    assert fitted(most) is most


@pytest.mark.parametrize("text", ["\0", "a\nb", "\x7f", "x" * 1001])
def test_an_invalid_id_makes_no_message_and_is_named_by_its_digest(text: str) -> None:
    with pytest.raises(Undecodable, match=r"PackageMessage\.package_id"):
        bounded(replaced(PACKAGE, package_id=text))
    assert fitted(replaced(PACKAGE, package_id=text)).package_id == bounds.digest(text)
    nested = replaced(SAID, states=(SubscriberState(publisher=text, offset=1),))
    with pytest.raises(Undecodable, match=r"SubscriberState\.publisher"):
        bounded(nested)
    assert bounded(fitted(nested)) == fitted(nested)


def test_too_many_names_make_no_message() -> None:
    follows = replaced(SAID.configuration, follows=("a",) * (bounds.NAMES_MAX + 1))
    with pytest.raises(Undecodable, match="10001 names, and the limit is 10000"):
        bounded(replaced(SAID, configuration=follows))


def test_text_that_is_too_long_is_cut_with_a_note() -> None:
    line = LogMessage(publisher="site", subscriber_instance="i", subscriber="edge-1", message="x" * 50_000)
    read = bounded(line).message
    assert len(read) <= bounds.TEXT_CHARS_MAX
    assert read.endswith("... (30040 more characters)")
    assert clipped(read) == read


def test_the_reason_of_a_refusal_may_have_lines() -> None:
    commit = EntityCommitMessage(key="alice", commit_id=1, command_id="c", reason="not enough:\n- money\n", code="no")
    assert bounded(commit) is commit
