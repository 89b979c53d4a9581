"""callboard: distributes content from publishers to fleets of subscribers through one persisted log.

The public API: ``Callboard``, its arguments and its answers, and the errors. Code without an event loop uses
``callboard.sync.Callboard``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # isort: off
    from callboard.actors.core.backoff import Backoff
    from callboard.actors.core.hooks import Hook, HookCall
    from callboard.actors.jobs.rules.telling import JobEvent
    from callboard.actors.topology.announcements.remote_cluster import RemoteCluster, RemoteInstance
    from callboard.actors.topology.cluster_view import ClusterView, Instance
    from callboard.backends.fence import Fence, Token
    from callboard.backends.log import Retention
    from callboard.board.board import Callboard
    from callboard.board.board_events import BoardEvents
    from callboard.board.entities.entities import Committed, Entities, EntityView
    from callboard.board.entities.health.fold_report import FoldReport
    from callboard.board.entities.projected import FoldStatus, Projected, Reacting
    from callboard.board.entities.replay.replayed import Replayed
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate
    from callboard.board.care.verifying import Repair, Verified
    from callboard.board.command.commands import CommandOptions
    from callboard.board.connect.settings import Publishing, SitePlace
    from callboard.board.connect.subscriber_options import SubscriberOptions
    from callboard.board.jobs.board_jobs import BoardJobs
    from callboard.board.jobs.finding.finding import JobPage, JobQuery
    from callboard.board.jobs.finding.plan import JobPlan
    from callboard.board.jobs.finding.statistics import JobFigures, JobStatistics
    from callboard.board.events.distributed_event import DistributedEvent
    from callboard.board.events.listener import Listener
    from callboard.board.events.listeners import ListenerState
    from callboard.board.jobs.schedules.crons import daily, hourly, monthly, weekly, yearly
    from callboard.board.jobs.health.report import WorkerState
    from callboard.board.jobs.job import Job, Progress
    from callboard.board.jobs.new_job import NewJob, NewJobOptions
    from callboard.board.jobs.outbox.outbox import Outbox
    from callboard.board.jobs.queues import QueueSettings, QueueState
    from callboard.board.jobs.functions.registry import DefinedJob, JobRegistry
    from callboard.board.jobs.work.running_job import RunningJob
    from callboard.board.jobs.schedules.schedule_state import ScheduleState
    from callboard.board.jobs.work.worker import Worker
    from callboard.board.member.differences import InstancesDiff, diff
    from callboard.board.member.leadership import LeaderLease
    from callboard.board.member.member import Member
    from callboard.board.member.options import MemberOptions
    from callboard.board.member.property_sources import Provider, WellKnownProperty
    from callboard.board.member.topology_view import TopologyEvent, TopologyEventKind, TopologyView
    from callboard.board.page import AsOf, Page
    from callboard.board.publisher import Publisher, RequestOptions
    from callboard.board.read.events import BoardEvent
    from callboard.board.read.explaining import Explanation
    from callboard.board.read.publisher_log import LogLine
    from callboard.board.relay.relaying import RelayOptions
    from callboard.board.site_status import SiteStatus, SiteSubscriber
    from callboard.board.subscriber import Subscriber
    from callboard.board.timers.timers import Timers, TimerState
    from callboard.board.topology.changes import ClusterChange
    from callboard.board.topology.commands import ClusterCommandResult
    from callboard.board.topology.explaining import ViewExplanation
    from callboard.board.topology.topology import ClusterCommandOptions, ClusterSettingsChange, Topology
    from callboard.board.topology.view import ClusterReport, MemberReport
    from callboard.board.views import (
        BoardStatus,
        CohortQueue,
        CommandResult,
        FailedPackage,
        HeldUp,
        Package,
        PublisherStatus,
        QueueView,
        QueuedPackage,
        Remedy,
        SubscriberStatus,
        Trouble,
    )
    from callboard.content.collection import BlobCollection
    from callboard.content.importing.changes import Change, Changes
    from callboard.errors import (
        AgentFailed,
        ArchiveBusy,
        ArchiveDamaged,
        ArchiveError,
        ArchiveHole,
        BlobDamaged,
        BlobError,
        BlobMissing,
        BlobUnavailable,
        CallboardError,
        CancelJob,
        CommandRefused,
        ConfigError,
        ExtraMissing,
        HookFailed,
        LeaderReplaced,
        LeadershipLost,
        LogError,
        LogReplaced,
        LogUnavailable,
        MembershipEnded,
        NameLapsed,
        NotAllImported,
        NotAnswered,
        NotImported,
        NotSupported,
        OffsetOutOfRange,
        PackageCorrupt,
        PackageError,
        PackageRefused,
        RecordTooLarge,
        RepositoryBusy,
        RepositoryError,
        RepositoryOccupied,
        RepositoryUnavailable,
        RequestRefused,
        RetryJob,
        RootFilled,
        SchemaTooNew,
        SubscriberStuck,
        SubscriberTaken,
        TopicMissing,
        Undecodable,
    )
    from callboard.messages.distribution.topic_messages import DiscoveryMessage, Kind
    from callboard.messages.jobs.job_messages import QueueOrder
    from callboard.messages.jobs.job_state import JobState
    from callboard.messages.signing import SigningKey
    from callboard.messages.topology.cluster_state import Barrier, Health
    from callboard.version import __version__ as __version__
    # isort: on

__all__ = [
    "AgentFailed", "ArchiveBusy", "ArchiveDamaged", "ArchiveError", "ArchiveHole", "AsOf", "Backoff", "Barrier",
    "BlobCollection", "BlobDamaged", "BlobError", "BlobMissing", "BlobUnavailable", "BoardEvent", "BoardEvents",
    "BoardJobs", "BoardStatus", "Callboard", "CallboardError", "CancelJob", "Change", "Changes", "ClusterChange",
    "ClusterCommandOptions", "ClusterCommandResult", "ClusterReport", "ClusterSettingsChange", "ClusterView",
    "CohortQueue", "CommandOptions", "CommandRefused", "CommandResult", "Committed", "ConfigError", "DefinedJob",
    "DiscoveryMessage", "DistributedEvent", "Entities", "EntityView", "Explanation", "ExtraMissing", "FailedPackage",
    "Fence", "FoldReport", "FoldStatus", "GatePolicy", "Health", "HeldUp", "Hook", "HookCall", "HookFailed", "Instance",
    "InstancesDiff", "Job", "JobEvent", "JobFigures", "JobPage", "JobPlan", "JobQuery", "JobRegistry", "JobState",
    "JobStatistics", "Kind", "LeaderLease", "LeaderReplaced", "LeadershipLost", "Listener", "ListenerState", "LogError",
    "LogLine", "LogReplaced", "LogUnavailable", "Member", "MemberOptions", "MemberReport", "MembershipEnded",
    "NameLapsed", "NewJob", "NewJobOptions", "NotAllImported", "NotAnswered", "NotImported", "NotSupported",
    "OffsetOutOfRange", "Outbox", "Package", "PackageCorrupt", "PackageError", "PackageRefused", "Page", "Progress",
    "Projected", "Provider", "Publisher", "PublisherStatus", "Publishing", "QueueOrder", "QueueSettings", "QueueState",
    "QueueView", "QueuedPackage", "Reacting", "RecordTooLarge", "RelayOptions", "Remedy", "RemoteCluster",
    "RemoteInstance", "Repair", "Replayed", "RepositoryBusy", "RepositoryError", "RepositoryOccupied",
    "RepositoryUnavailable", "RequestOptions", "RequestRefused", "Retention", "RetentionGate", "RetryJob", "RootFilled",
    "RunningJob", "ScheduleState", "SchemaTooNew", "SigningKey", "SitePlace", "SiteStatus", "SiteSubscriber",
    "Subscriber", "SubscriberOptions", "SubscriberStatus", "SubscriberStuck", "SubscriberTaken", "TimerState", "Timers",
    "Token", "TopicMissing", "Topology", "TopologyEvent", "TopologyEventKind", "TopologyView", "Trouble", "Undecodable",
    "Verified", "ViewExplanation", "WellKnownProperty", "Worker", "WorkerState", "daily", "diff", "hourly", "monthly",
    "weekly", "yearly",
]  # fmt: skip

_MODULES = {
    "callboard.actors.core.backoff": "Backoff",
    "callboard.actors.core.hooks": "Hook HookCall",
    "callboard.backends.fence": "Fence Token",
    "callboard.actors.jobs.rules.telling": "JobEvent",
    "callboard.actors.topology.announcements.remote_cluster": "RemoteCluster RemoteInstance",
    "callboard.actors.topology.cluster_view": "ClusterView Instance",
    "callboard.backends.log": "Retention",
    "callboard.board.board": "Callboard",
    "callboard.board.board_events": "BoardEvents",
    "callboard.board.care.retention_gate": "GatePolicy RetentionGate",
    "callboard.board.care.verifying": "Repair Verified",
    "callboard.board.command.commands": "CommandOptions",
    "callboard.board.connect.settings": "Publishing SitePlace",
    "callboard.board.connect.subscriber_options": "SubscriberOptions",
    "callboard.board.jobs.board_jobs": "BoardJobs",
    "callboard.board.jobs.finding.finding": "JobPage JobQuery",
    "callboard.board.jobs.finding.plan": "JobPlan",
    "callboard.board.jobs.finding.statistics": "JobFigures JobStatistics",
    "callboard.board.entities.entities": "Committed Entities EntityView",
    "callboard.board.entities.health.fold_report": "FoldReport",
    "callboard.board.entities.projected": "FoldStatus Projected Reacting",
    "callboard.board.entities.replay.replayed": "Replayed",
    "callboard.board.events.distributed_event": "DistributedEvent",
    "callboard.board.events.listener": "Listener",
    "callboard.board.events.listeners": "ListenerState",
    "callboard.board.jobs.schedules.crons": "daily hourly monthly weekly yearly",
    "callboard.board.jobs.health.report": "WorkerState",
    "callboard.board.jobs.job": "Job Progress",
    "callboard.board.jobs.new_job": "NewJob NewJobOptions",
    "callboard.board.jobs.outbox.outbox": "Outbox",
    "callboard.board.jobs.queues": "QueueSettings QueueState",
    "callboard.board.jobs.functions.registry": "DefinedJob JobRegistry",
    "callboard.board.jobs.work.running_job": "RunningJob",
    "callboard.board.jobs.schedules.schedule_state": "ScheduleState",
    "callboard.board.jobs.work.worker": "Worker",
    "callboard.board.member.differences": "InstancesDiff diff",
    "callboard.board.member.leadership": "LeaderLease",
    "callboard.board.member.member": "Member",
    "callboard.board.member.options": "MemberOptions",
    "callboard.board.member.property_sources": "Provider WellKnownProperty",
    "callboard.board.member.topology_view": "TopologyEvent TopologyEventKind TopologyView",
    "callboard.board.page": "AsOf Page",
    "callboard.board.publisher": "Publisher RequestOptions",
    "callboard.board.read.events": "BoardEvent",
    "callboard.board.read.explaining": "Explanation",
    "callboard.board.read.publisher_log": "LogLine",
    "callboard.board.relay.relaying": "RelayOptions",
    "callboard.board.site_status": "SiteStatus SiteSubscriber",
    "callboard.board.subscriber": "Subscriber",
    "callboard.board.timers.timers": "TimerState Timers",
    "callboard.board.topology.changes": "ClusterChange",
    "callboard.board.topology.commands": "ClusterCommandResult",
    "callboard.board.topology.explaining": "ViewExplanation",
    "callboard.board.topology.topology": "ClusterCommandOptions ClusterSettingsChange Topology",
    "callboard.board.topology.view": "ClusterReport MemberReport",
    "callboard.board.views": (
        "BoardStatus CohortQueue CommandResult FailedPackage HeldUp Package PublisherStatus QueueView "
        "QueuedPackage Remedy SubscriberStatus Trouble"
    ),
    "callboard.content.collection": "BlobCollection",
    "callboard.content.importing.changes": "Change Changes",
    "callboard.messages.distribution.topic_messages": "DiscoveryMessage Kind",
    "callboard.messages.jobs.job_messages": "QueueOrder",
    "callboard.messages.jobs.job_state": "JobState",
    "callboard.messages.signing": "SigningKey",
    "callboard.messages.topology.cluster_state": "Barrier Health",
    "callboard.version": "__version__",
}
"""The modules of the public names, except errors."""


def __getattr__(name: str) -> Any:
    """Import public names at first use: every layer below imports this package first."""
    if name not in __all__ and name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names.split()), "callboard.errors")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
