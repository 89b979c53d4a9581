"""The JSON of topic ``event``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import PackageDistributedMessage
from callboard.messages.json_codec import decode_json, encode_json

PATHS = st.lists(st.text()).map(tuple)


@given(
    event=st.builds(
        PackageDistributedMessage,
        publisher=st.text(),
        package_id=st.text(),
        deep_paths=PATHS,
        paths=PATHS,
        offset=st.integers(-1, 2**63 - 1),
    )
)
def test_a_written_record_can_be_read(event: PackageDistributedMessage) -> None:
    assert decode_json(encode_json(event)) == event


def test_unknown_properties_and_null_paths_are_read() -> None:
    data = b'{"pubAgentName": "site", "packageId": "p", "paths": null, "offset": 7, "more": {}}'

    assert decode_json(data) == PackageDistributedMessage(publisher="site", package_id="p", offset=7)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "are not a PackageDistributedMessage"),
        (b"\xff\xfe\xff", "are not a PackageDistributedMessage"),
        (b"[" * 100_000, "are not a PackageDistributedMessage"),
        (b"[]", "not one"),
        (b'{"packageId": "p", "offset": 7}', "pubAgentName is None"),
        (b'{"pubAgentName": "site", "packageId": 5, "offset": 7}', "packageId is 5"),
        (b'{"pubAgentName": "site", "packageId": "p", "offset": true}', "offset is True"),
        (b'{"pubAgentName": "site", "packageId": "p", "offset": 7, "paths": "/a"}', "paths is '/a'"),
        (b'{"pubAgentName": "site", "packageId": "p", "offset": 7, "deepPaths": [1]}', "deepPaths is [1]"),
    ],
)
def test_the_error_for_invalid_json_says_why(data: bytes, problem: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decode_json(data)
    assert problem in str(caught.value)


@given(data=st.binary(max_size=40))
def test_arbitrary_bytes_are_an_event_or_undecodable(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode_json(data)
