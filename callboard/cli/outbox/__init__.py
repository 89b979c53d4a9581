"""The outbox: jobs that were added within transactions of a database."""
