"""The roles in a worker agent: the addresses by which its actors send mail to each other."""

DISPATCHER = "dispatcher"
REPORTER = "reporter"
