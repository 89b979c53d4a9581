"""The requests that aiokafka has only in versions without topic ids.

A name does not say which incarnation of a topic answers; an id does. Layouts as in Kafka's protocol guide.
"""

from io import BytesIO
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactBytes,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

_NAME = CompactString("utf-8")
_TAGS = ("tags", TaggedFields)


class _Uuid:
    """16 raw bytes, with the interface of aiokafka's types."""

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, data: BytesIO) -> bytes:
        return data.read(16)

    def repr(self, value: bytes) -> str:
        return value.hex()


_UUID = _Uuid()


def _schema(**fields: Any) -> Schema:
    return Schema(*fields.items(), _TAGS)


def _list(**fields: Any) -> CompactArray:
    return CompactArray(*fields.items(), _TAGS)


class _MetadataResponse(Response):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 12
    SCHEMA = _schema(
        throttle_time_ms=Int32,
        brokers=_list(node=Int32, host=_NAME, port=Int32, rack=_NAME),
        cluster_id=_NAME,
        controller=Int32,
        topics=_list(
            error=Int16,
            name=_NAME,
            id=_UUID,
            internal=Boolean,
            partitions=_list(
                error=Int16,
                partition=Int32,
                leader=Int32,
                leader_epoch=Int32,
                replicas=CompactArray(Int32),
                in_sync=CompactArray(Int32),
                offline=CompactArray(Int32),
            ),
            operations=Int32,
        ),
    )


class _MetadataRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = _schema(topics=_list(id=_UUID, name=_NAME), create=Boolean, operations=Boolean)


class _FetchResponse(Response):  # type: ignore[misc]
    API_KEY = 1
    API_VERSION = 13
    SCHEMA = _schema(
        throttle_time_ms=Int32,
        error=Int16,
        session=Int32,
        topics=_list(
            id=_UUID,
            partitions=_list(
                partition=Int32,
                error=Int16,
                high_watermark=Int64,
                last_stable_offset=Int64,
                log_start_offset=Int64,
                aborted=_list(producer=Int64, first_offset=Int64),
                preferred_replica=Int32,
                records=CompactBytes,
            ),
        ),
    )


class _FetchRequest(RequestStruct):  # type: ignore[misc]
    API_KEY = 1
    API_VERSION = 13
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _FetchResponse
    SCHEMA = _schema(
        replica=Int32,
        max_wait_ms=Int32,
        min_bytes=Int32,
        max_bytes=Int32,
        isolation_level=Int8,
        session=Int32,
        session_epoch=Int32,
        topics=_list(
            id=_UUID,
            partitions=_list(
                partition=Int32,
                leader_epoch=Int32,
                offset=Int64,
                last_epoch=Int32,
                log_start_offset=Int64,
                max_bytes=Int32,
            ),
        ),
        forgotten=_list(id=_UUID, partitions=CompactArray(Int32)),
        rack=_NAME,
    )


class MetadataRequest(Request[_MetadataRequest]):  # type: ignore[misc]
    """The current brokers, and a topic's id and leader; creates nothing. Kafka 3.1 and newer.

    With ``operations``, also this user's permissions on the topic, as bits.
    """

    API_KEY = 3

    def __init__(self, topic: str, create: bool = False, operations: bool = False) -> None:
        self._topic, self._create, self._operations = topic, create, operations

    def build(self, struct: Any) -> Any:
        """See ``Request``."""
        return struct([(bytes(16), self._topic, {})], self._create, self._operations, {})


class FetchRequest(Request[_FetchRequest]):  # type: ignore[misc]
    """Committed record batches of a topic's partition 0 from an offset on. Kafka 3.1 and newer."""

    API_KEY = 1

    def __init__(self, topic_id: bytes, offset: int, max_bytes: int, max_wait_ms: int) -> None:
        self._topic_id, self._offset = topic_id, offset
        self._max_bytes, self._max_wait_ms = max_bytes, max_wait_ms

    def build(self, struct: Any) -> Any:
        """See ``Request``."""
        partition: tuple[Any, ...] = (0, -1, self._offset, -1, -1, self._max_bytes, {})
        topics: list[tuple[Any, ...]] = [(self._topic_id, [partition], {})]
        committed, no_session = 1, (0, -1)
        return struct(-1, self._max_wait_ms, 1, self._max_bytes, committed, *no_session, topics, [], "", {})
