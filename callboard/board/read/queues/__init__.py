"""Reads pages of queues and of error queues."""
