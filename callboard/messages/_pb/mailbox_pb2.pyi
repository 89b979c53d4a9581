from callboard.messages._pb import distribution_pb2 as _distribution_pb2
from callboard.messages._pb import record_pb2 as _record_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Liveness(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIVENESS_LIVE: _ClassVar[Liveness]
    LIVENESS_SILENT: _ClassVar[Liveness]
    LIVENESS_GONE: _ClassVar[Liveness]
    LIVENESS_STOPPED: _ClassVar[Liveness]

class Obstacle(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBSTACLE_UNAVAILABLE: _ClassVar[Obstacle]
    OBSTACLE_OUT_OF_RANGE: _ClassVar[Obstacle]
    OBSTACLE_REPLACED: _ClassVar[Obstacle]

class Problem(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROBLEM_SUBSCRIBER_TAKEN: _ClassVar[Problem]
    PROBLEM_REPOSITORY_BUSY: _ClassVar[Problem]
    PROBLEM_SCHEMA_TOO_NEW: _ClassVar[Problem]
    PROBLEM_ACTOR_FAILED: _ClassVar[Problem]
    PROBLEM_REPOSITORY_UNAVAILABLE: _ClassVar[Problem]
LIVENESS_LIVE: Liveness
LIVENESS_SILENT: Liveness
LIVENESS_GONE: Liveness
LIVENESS_STOPPED: Liveness
OBSTACLE_UNAVAILABLE: Obstacle
OBSTACLE_OUT_OF_RANGE: Obstacle
OBSTACLE_REPLACED: Obstacle
PROBLEM_SUBSCRIBER_TAKEN: Problem
PROBLEM_REPOSITORY_BUSY: Problem
PROBLEM_SCHEMA_TOO_NEW: Problem
PROBLEM_ACTOR_FAILED: Problem
PROBLEM_REPOSITORY_UNAVAILABLE: Problem

class DistributeRequest(_message.Message):
    __slots__ = ("request_id", "kind", "paths", "deep_paths", "source", "user", "metadata")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    DEEP_PATHS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    kind: _distribution_pb2.Kind
    paths: _containers.RepeatedScalarFieldContainer[str]
    deep_paths: _containers.RepeatedScalarFieldContainer[str]
    source: str
    user: str
    metadata: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.Pair]
    def __init__(self, request_id: _Optional[str] = ..., kind: _Optional[_Union[_distribution_pb2.Kind, str]] = ..., paths: _Optional[_Iterable[str]] = ..., deep_paths: _Optional[_Iterable[str]] = ..., source: _Optional[str] = ..., user: _Optional[str] = ..., metadata: _Optional[_Iterable[_Union[_distribution_pb2.Pair, _Mapping]]] = ...) -> None: ...

class DistributeResponse(_message.Message):
    __slots__ = ("request_id", "accepted", "package_id", "offset", "length", "entries", "reason")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    accepted: bool
    package_id: str
    offset: int
    length: int
    entries: int
    reason: str
    def __init__(self, request_id: _Optional[str] = ..., accepted: bool = ..., package_id: _Optional[str] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., entries: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class PackageSummary(_message.Message):
    __slots__ = ("offset", "time_ns", "publisher", "kind", "package_id", "length", "paths", "deep_paths", "user", "problem")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    DEEP_PATHS_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    offset: int
    time_ns: int
    publisher: str
    kind: _distribution_pb2.Kind
    package_id: str
    length: int
    paths: _containers.RepeatedScalarFieldContainer[str]
    deep_paths: _containers.RepeatedScalarFieldContainer[str]
    user: str
    problem: str
    def __init__(self, offset: _Optional[int] = ..., time_ns: _Optional[int] = ..., publisher: _Optional[str] = ..., kind: _Optional[_Union[_distribution_pb2.Kind, str]] = ..., package_id: _Optional[str] = ..., length: _Optional[int] = ..., paths: _Optional[_Iterable[str]] = ..., deep_paths: _Optional[_Iterable[str]] = ..., user: _Optional[str] = ..., problem: _Optional[str] = ...) -> None: ...

class PackagesSeen(_message.Message):
    __slots__ = ("log_id", "start", "stop", "packages")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    start: int
    stop: int
    packages: _containers.RepeatedCompositeFieldContainer[PackageSummary]
    def __init__(self, log_id: _Optional[str] = ..., start: _Optional[int] = ..., stop: _Optional[int] = ..., packages: _Optional[_Iterable[_Union[PackageSummary, _Mapping]]] = ...) -> None: ...

class RangeWanted(_message.Message):
    __slots__ = ("log_id", "start", "stop")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    start: int
    stop: int
    def __init__(self, log_id: _Optional[str] = ..., start: _Optional[int] = ..., stop: _Optional[int] = ...) -> None: ...

class RangeDone(_message.Message):
    __slots__ = ("start", "stop", "first", "problem")
    START_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    start: int
    stop: int
    first: int
    problem: str
    def __init__(self, start: _Optional[int] = ..., stop: _Optional[int] = ..., first: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...

class QueueQuery(_message.Message):
    __slots__ = ("after", "publisher", "skip", "limit")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after: int
    publisher: str
    skip: int
    limit: int
    def __init__(self, after: _Optional[int] = ..., publisher: _Optional[str] = ..., skip: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class QueueSize(_message.Message):
    __slots__ = ("publisher", "after", "size", "length", "oldest_ns", "newest")
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    OLDEST_NS_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    publisher: str
    after: int
    size: int
    length: int
    oldest_ns: int
    newest: int
    def __init__(self, publisher: _Optional[str] = ..., after: _Optional[int] = ..., size: _Optional[int] = ..., length: _Optional[int] = ..., oldest_ns: _Optional[int] = ..., newest: _Optional[int] = ...) -> None: ...

class QueuePage(_message.Message):
    __slots__ = ("queue", "packages", "problem")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    queue: QueueSize
    packages: _containers.RepeatedCompositeFieldContainer[PackageSummary]
    problem: str
    def __init__(self, queue: _Optional[_Union[QueueSize, _Mapping]] = ..., packages: _Optional[_Iterable[_Union[PackageSummary, _Mapping]]] = ..., problem: _Optional[str] = ...) -> None: ...

class SizesQuery(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueSize]
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueSize, _Mapping]]] = ...) -> None: ...

class Sizes(_message.Message):
    __slots__ = ("queues", "publishers", "problem")
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    PUBLISHERS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[QueueSize]
    publishers: _containers.RepeatedScalarFieldContainer[str]
    problem: str
    def __init__(self, queues: _Optional[_Iterable[_Union[QueueSize, _Mapping]]] = ..., publishers: _Optional[_Iterable[str]] = ..., problem: _Optional[str] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("announcement", "liveness", "seen_ns")
    ANNOUNCEMENT_FIELD_NUMBER: _ClassVar[int]
    LIVENESS_FIELD_NUMBER: _ClassVar[int]
    SEEN_NS_FIELD_NUMBER: _ClassVar[int]
    announcement: _distribution_pb2.DiscoveryMessage
    liveness: Liveness
    seen_ns: int
    def __init__(self, announcement: _Optional[_Union[_distribution_pb2.DiscoveryMessage, _Mapping]] = ..., liveness: _Optional[_Union[Liveness, str]] = ..., seen_ns: _Optional[int] = ...) -> None: ...

class FleetQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class FleetView(_message.Message):
    __slots__ = ("members",)
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[Member]
    def __init__(self, members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ...) -> None: ...

class ErrorsQuery(_message.Message):
    __slots__ = ("subscriber", "publisher", "skip", "limit")
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    subscriber: str
    publisher: str
    skip: int
    limit: int
    def __init__(self, subscriber: _Optional[str] = ..., publisher: _Optional[str] = ..., skip: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ErrorCount(_message.Message):
    __slots__ = ("subscriber", "publisher", "size")
    SUBSCRIBER_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    subscriber: str
    publisher: str
    size: int
    def __init__(self, subscriber: _Optional[str] = ..., publisher: _Optional[str] = ..., size: _Optional[int] = ...) -> None: ...

class ErrorsPage(_message.Message):
    __slots__ = ("errors", "counts")
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    errors: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.PackageStatusMessage]
    counts: _containers.RepeatedCompositeFieldContainer[ErrorCount]
    def __init__(self, errors: _Optional[_Iterable[_Union[_distribution_pb2.PackageStatusMessage, _Mapping]]] = ..., counts: _Optional[_Iterable[_Union[ErrorCount, _Mapping]]] = ...) -> None: ...

class CommandRequest(_message.Message):
    __slots__ = ("command",)
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    command: _distribution_pb2.CommandMessage
    def __init__(self, command: _Optional[_Union[_distribution_pb2.CommandMessage, _Mapping]] = ...) -> None: ...

class CommandSent(_message.Message):
    __slots__ = ("command_id", "offset", "problem")
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    command_id: str
    offset: int
    problem: str
    def __init__(self, command_id: _Optional[str] = ..., offset: _Optional[int] = ..., problem: _Optional[str] = ...) -> None: ...

class PackagesWanted(_message.Message):
    __slots__ = ("log_id", "start", "max_records", "max_bytes")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    start: int
    max_records: int
    max_bytes: int
    def __init__(self, log_id: _Optional[str] = ..., start: _Optional[int] = ..., max_records: _Optional[int] = ..., max_bytes: _Optional[int] = ...) -> None: ...

class PackagesRead(_message.Message):
    __slots__ = ("log_id", "start", "next", "records")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    start: int
    next: int
    records: _containers.RepeatedCompositeFieldContainer[_record_pb2.Record]
    def __init__(self, log_id: _Optional[str] = ..., start: _Optional[int] = ..., next: _Optional[int] = ..., records: _Optional[_Iterable[_Union[_record_pb2.Record, _Mapping]]] = ...) -> None: ...

class PackagesUnavailable(_message.Message):
    __slots__ = ("start", "obstacle", "reason", "first", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    OBSTACLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    obstacle: Obstacle
    reason: str
    first: int
    end: int
    def __init__(self, start: _Optional[int] = ..., obstacle: _Optional[_Union[Obstacle, str]] = ..., reason: _Optional[str] = ..., first: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class CommandsWanted(_message.Message):
    __slots__ = ("subscriber_instance", "log_id", "offset")
    SUBSCRIBER_INSTANCE_FIELD_NUMBER: _ClassVar[int]
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    subscriber_instance: str
    log_id: str
    offset: int
    def __init__(self, subscriber_instance: _Optional[str] = ..., log_id: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class CommandReceived(_message.Message):
    __slots__ = ("log_id", "offset", "command")
    LOG_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    log_id: str
    offset: int
    command: _distribution_pb2.CommandMessage
    def __init__(self, log_id: _Optional[str] = ..., offset: _Optional[int] = ..., command: _Optional[_Union[_distribution_pb2.CommandMessage, _Mapping]] = ...) -> None: ...

class CommandsBlocked(_message.Message):
    __slots__ = ("offset", "reason")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    offset: int
    reason: str
    def __init__(self, offset: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class StatusesPending(_message.Message):
    __slots__ = ("statuses",)
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    statuses: _containers.RepeatedCompositeFieldContainer[_distribution_pb2.PackageStatusMessage]
    def __init__(self, statuses: _Optional[_Iterable[_Union[_distribution_pb2.PackageStatusMessage, _Mapping]]] = ...) -> None: ...

class StatusesSent(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("announcement",)
    ANNOUNCEMENT_FIELD_NUMBER: _ClassVar[int]
    announcement: _distribution_pb2.DiscoveryMessage
    def __init__(self, announcement: _Optional[_Union[_distribution_pb2.DiscoveryMessage, _Mapping]] = ...) -> None: ...

class Admitted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CaughtUpQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportQuery(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AgentProblem(_message.Message):
    __slots__ = ("problem", "reason")
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    problem: Problem
    reason: str
    def __init__(self, problem: _Optional[_Union[Problem, str]] = ..., reason: _Optional[str] = ...) -> None: ...
