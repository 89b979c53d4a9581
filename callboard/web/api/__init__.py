"""The HTTP API: every read of the command line as JSON, below ``/api/v1``."""
