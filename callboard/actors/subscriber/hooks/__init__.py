"""The service's hooks that are called after an import."""
