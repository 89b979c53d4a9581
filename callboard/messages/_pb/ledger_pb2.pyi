from callboard.messages._pb import distribution_pb2 as _distribution_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Watermark(_message.Message):
    __slots__ = ("publisher", "offset")
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    publisher: str
    offset: int
    def __init__(self, publisher: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class Ledger(_message.Message):
    __slots__ = ("instance", "subscriber", "log_id", "positioned", "offset", "attempt_offset", "attempts", "last_error", "clears", "command_log_id", "command_offset", "cleared", "imported", "next_sequence", "outbox")
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    POSITIONED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CLEARS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_LOG_ID_FIELD_NUMBER: _ClassVar[int]
    COMMAND_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OUTBOX_FIELD_NUMBER: _ClassVar[int]
    instance: str
    subscriber: str
    log_id: str
    positioned: bool
    offset: int
    attempt_offset: int
    attempts: int
    last_error: str
    clears: _containers.RepeatedCompositeFieldContainer[Watermark]
    command_log_id: str
    command_offset: int
    cleared: int
    imported: int
    next_sequence: int
    outbox: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.PackageStatusMessage]
    def __init__(self, instance: _Optional[str] = ..., subscriber: _Optional[str] = ..., log_id: _Optional[str] = ..., positioned: bool = ..., offset: _Optional[int] = ..., attempt_offset: _Optional[int] = ..., attempts: _Optional[int] = ..., last_error: _Optional[str] = ..., clears: _Optional[_Iterable[_Union[Watermark, _Mapping]]] = ..., command_log_id: _Optional[str] = ..., command_offset: _Optional[int] = ..., cleared: _Optional[int] = ..., imported: _Optional[int] = ..., next_sequence: _Optional[int] = ..., outbox: _Optional[_Iterable[_Union[_distribution_pb2.PackageStatusMessage, _Mapping]]] = ...) -> None: ...
