"""The roles in a subscriber agent: the addresses by which its actors send mail to each other."""

PACKAGE_POLLER = "package_poller"
IMPORTER = "importer"
STATUS_SENDER = "status_sender"
ANNOUNCER = "announcer"
COMMAND_HANDLER = "command_handler"
GOLDEN_WATCHER = "golden_watcher"
