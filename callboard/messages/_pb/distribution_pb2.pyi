from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_ADD: _ClassVar[Kind]
    KIND_DELETE: _ClassVar[Kind]
    KIND_TEST: _ClassVar[Kind]
    KIND_INVALIDATE: _ClassVar[Kind]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_REMOVED_FAILED: _ClassVar[Status]
    STATUS_REMOVED: _ClassVar[Status]
    STATUS_IMPORTED: _ClassVar[Status]

class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATE_STARTING: _ClassVar[State]
    STATE_IDLE: _ClassVar[State]
    STATE_IMPORTING: _ClassVar[State]
    STATE_RETRYING: _ClassVar[State]
    STATE_BLOCKED: _ClassVar[State]
    STATE_GAP: _ClassVar[State]
    STATE_WAITING: _ClassVar[State]
    STATE_STOPPED: _ClassVar[State]
KIND_ADD: Kind
KIND_DELETE: Kind
KIND_TEST: Kind
KIND_INVALIDATE: Kind
STATUS_REMOVED_FAILED: Status
STATUS_REMOVED: Status
STATUS_IMPORTED: Status
STATE_STARTING: State
STATE_IDLE: State
STATE_IMPORTING: State
STATE_RETRYING: State
STATE_BLOCKED: State
STATE_GAP: State
STATE_WAITING: State
STATE_STOPPED: State

class Pair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class PackageMessage(_message.Message):
    __slots__ = ("publisher_instance", "publisher", "package_id", "kind", "length", "content", "paths", "deep_paths", "content_ref", "format", "user", "metadata", "request_id", "content_digest", "entries", "blobs")
    PUBLISHER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    DEEP_PATHS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_REF_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BLOBS_FIELD_NUMBER: _ClassVar[int]
    publisher_instance: str
    publisher: str
    package_id: str
    kind: Kind
    length: int
    content: bytes
    paths: _containers.RepeatedScalarFieldContainer[str]
    deep_paths: _containers.RepeatedScalarFieldContainer[str]
    content_ref: str
    format: str
    user: str
    metadata: _containers.RepeatedCompositeFieldContainer[Pair]
    request_id: str
    content_digest: str
    entries: int
    blobs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, publisher_instance: _Optional[str] = ..., publisher: _Optional[str] = ..., package_id: _Optional[str] = ..., kind: _Optional[_Union[Kind, str]] = ..., length: _Optional[int] = ..., content: _Optional[bytes] = ..., paths: _Optional[_Iterable[str]] = ..., deep_paths: _Optional[_Iterable[str]] = ..., content_ref: _Optional[str] = ..., format: _Optional[str] = ..., user: _Optional[str] = ..., metadata: _Optional[_Iterable[_Union[Pair, _Mapping]]] = ..., request_id: _Optional[str] = ..., content_digest: _Optional[str] = ..., entries: _Optional[int] = ..., blobs: _Optional[_Iterable[str]] = ...) -> None: ...

class PackageStatusMessage(_message.Message):
    __slots__ = ("subscriber_instance", "subscriber", "publisher", "offset", "status", "reason", "attempts", "package_id", "sequence", "time_ns")
    SUBSCRIBER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    subscriber_instance: str
    subscriber: str
    publisher: str
    offset: int
    status: Status
    reason: str
    attempts: int
    package_id: str
    sequence: int
    time_ns: int
    def __init__(self, subscriber_instance: _Optional[str] = ..., subscriber: _Optional[str] = ..., publisher: _Optional[str] = ..., offset: _Optional[int] = ..., status: _Optional[_Union[Status, str]] = ..., reason: _Optional[str] = ..., attempts: _Optional[int] = ..., package_id: _Optional[str] = ..., sequence: _Optional[int] = ..., time_ns: _Optional[int] = ...) -> None: ...

class SubscriberState(_message.Message):
    __slots__ = ("publisher", "offset", "retries")
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    publisher: str
    offset: int
    retries: int
    def __init__(self, publisher: _Optional[str] = ..., offset: _Optional[int] = ..., retries: _Optional[int] = ...) -> None: ...

class SubscriberConfiguration(_message.Message):
    __slots__ = ("editable", "max_retries", "follows", "repository")
    EDITABLE_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    FOLLOWS_FIELD_NUMBER: _ClassVar[int]
    REPOSITORY_FIELD_NUMBER: _ClassVar[int]
    editable: bool
    max_retries: int
    follows: _containers.RepeatedScalarFieldContainer[str]
    repository: str
    def __init__(self, editable: bool = ..., max_retries: _Optional[int] = ..., follows: _Optional[_Iterable[str]] = ..., repository: _Optional[str] = ...) -> None: ...

class DiscoveryMessage(_message.Message):
    __slots__ = ("subscriber_instance", "subscriber", "states", "configuration", "state", "reason", "offset", "log_id", "attempts", "last_error", "since_ns", "next_try_ns", "time_ns", "host", "pid", "version", "command_offset", "cleared", "imported", "announce_interval_ms")
    SUBSCRIBER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    SINCE_NS_FIELD_NUMBER: _ClassVar[int]
    NEXT_TRY_NS_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMMAND_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CLEARED_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCE_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    subscriber_instance: str
    subscriber: str
    states: _containers.RepeatedCompositeFieldContainer[SubscriberState]
    configuration: SubscriberConfiguration
    state: State
    reason: str
    offset: int
    log_id: str
    attempts: int
    last_error: str
    since_ns: int
    next_try_ns: int
    time_ns: int
    host: str
    pid: int
    version: str
    command_offset: int
    cleared: int
    imported: int
    announce_interval_ms: int
    def __init__(self, subscriber_instance: _Optional[str] = ..., subscriber: _Optional[str] = ..., states: _Optional[_Iterable[_Union[SubscriberState, _Mapping]]] = ..., configuration: _Optional[_Union[SubscriberConfiguration, _Mapping]] = ..., state: _Optional[_Union[State, str]] = ..., reason: _Optional[str] = ..., offset: _Optional[int] = ..., log_id: _Optional[str] = ..., attempts: _Optional[int] = ..., last_error: _Optional[str] = ..., since_ns: _Optional[int] = ..., next_try_ns: _Optional[int] = ..., time_ns: _Optional[int] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., version: _Optional[str] = ..., command_offset: _Optional[int] = ..., cleared: _Optional[int] = ..., imported: _Optional[int] = ..., announce_interval_ms: _Optional[int] = ...) -> None: ...

class ClearCommand(_message.Message):
    __slots__ = ("offset",)
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    offset: int
    def __init__(self, offset: _Optional[int] = ...) -> None: ...

class CommandMessage(_message.Message):
    __slots__ = ("subscriber_instance", "subscriber", "clear", "publisher", "command_id", "author", "reason", "log_id")
    SUBSCRIBER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    CLEAR_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    subscriber_instance: str
    subscriber: str
    clear: ClearCommand
    publisher: str
    command_id: str
    author: str
    reason: str
    log_id: str
    def __init__(self, subscriber_instance: _Optional[str] = ..., subscriber: _Optional[str] = ..., clear: _Optional[_Union[ClearCommand, _Mapping]] = ..., publisher: _Optional[str] = ..., command_id: _Optional[str] = ..., author: _Optional[str] = ..., reason: _Optional[str] = ..., log_id: _Optional[str] = ...) -> None: ...

class PingMessage(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LogMessage(_message.Message):
    __slots__ = ("publisher", "subscriber_instance", "subscriber", "message", "stacktrace")
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STACKTRACE_FIELD_NUMBER: _ClassVar[int]
    publisher: str
    subscriber_instance: str
    subscriber: str
    message: str
    stacktrace: str
    def __init__(self, publisher: _Optional[str] = ..., subscriber_instance: _Optional[str] = ..., subscriber: _Optional[str] = ..., message: _Optional[str] = ..., stacktrace: _Optional[str] = ...) -> None: ...

class PackageDistributedMessage(_message.Message):
    __slots__ = ("publisher", "package_id", "deep_paths", "paths", "offset")
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ID_FIELD_NUMBER: _ClassVar[int]
    DEEP_PATHS_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    publisher: str
    package_id: str
    deep_paths: _containers.RepeatedScalarFieldContainer[str]
    paths: _containers.RepeatedScalarFieldContainer[str]
    offset: int
    def __init__(self, publisher: _Optional[str] = ..., package_id: _Optional[str] = ..., deep_paths: _Optional[_Iterable[str]] = ..., paths: _Optional[_Iterable[str]] = ..., offset: _Optional[int] = ...) -> None: ...
