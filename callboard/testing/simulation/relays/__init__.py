"""Fleets joined by relays: each place has a log, blobs, publishers and subscribers, and what it is sent by others."""
