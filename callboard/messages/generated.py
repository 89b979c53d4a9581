"""Which generated code has the schema of which events."""

GENERATED = {
    "distribution.topic_messages": "distribution_pb2",
    "distribution.ledger": "ledger_pb2",
    "distribution.mailbox": "mailbox_pb2",
    "distribution.queue_mail": "mailbox_pb2",
    "distribution.fleet_mail": "mailbox_pb2",
    "distribution.publisher_mail": "publisher_mail_pb2",
    "record": "record_pb2",
    "topology.cluster_state": "topology_pb2",
    "topology.control_messages": "topology_pb2",
    "topology.member_mail": "member_mail_pb2",
    "topology.connector_messages": "connectors_pb2",
    "jobs.job_messages": "jobs_pb2",
    "jobs.progress_messages": "jobs_pb2",
    "jobs.job_mail": "job_mail_pb2",
    "jobs.job_snapshots": "job_snapshots_pb2",
    "events.event_messages": "events_pb2",
    "entities.entity_messages": "entities_pb2",
    "entities.entity_mail": "entity_mail_pb2",
}
"""Modules of event classes, each with the generated code for them. They are imported on first use, because a short
command needs few of them."""
