from callboard.messages._pb import distribution_pb2 as _distribution_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NewRecord(_message.Message):
    __slots__ = ("payload", "headers", "key")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    headers: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.Pair]
    key: str
    def __init__(self, payload: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[_distribution_pb2.Pair, _Mapping]]] = ..., key: _Optional[str] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("offset", "time_ns", "payload", "headers")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    offset: int
    time_ns: int
    payload: bytes
    headers: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.Pair]
    def __init__(self, offset: _Optional[int] = ..., time_ns: _Optional[int] = ..., payload: _Optional[bytes] = ..., headers: _Optional[_Iterable[_Union[_distribution_pb2.Pair, _Mapping]]] = ...) -> None: ...
