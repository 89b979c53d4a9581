"""The queues of subscribers, as views on an index of the log."""
