"""The HTTP API: what the commands show, as JSON, below ``/api/v1``."""
