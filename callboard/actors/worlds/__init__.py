"""Carries out the effects of actors: on the log, the blob store, the repository, and with a service's hooks."""
