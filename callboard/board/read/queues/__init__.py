"""Pages of queues and of error queues."""
