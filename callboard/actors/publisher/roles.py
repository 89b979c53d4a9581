"""The roles in a publisher agent: what its actors mail each other by."""

DISTRIBUTOR = "distributor"
TAIL_POLLER = "tail_poller"
HEAD_POLLER = "head_poller"
QUEUE_CACHE = "queue_cache"
FLEET = "fleet"
STATUS_WATCHER = "status_watcher"
COMMAND_SENDER = "command_sender"
