"""The roles in a subscriber agent: what its actors mail each other by."""

PACKAGE_POLLER = "package_poller"
IMPORTER = "importer"
STATUS_SENDER = "status_sender"
ANNOUNCER = "announcer"
COMMAND_HANDLER = "command_handler"
GOLDEN_WATCHER = "golden_watcher"
