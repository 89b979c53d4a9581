"""The contracts of log, blob store and repository, each beside the folder of its implementations."""
