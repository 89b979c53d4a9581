"""Who carries the effects of actors out: on the log, the blob store, the repository, and with a service's hooks."""
