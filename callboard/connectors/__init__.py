"""Connects clusters: over HTTP, each tells the others of itself and of those that it knows.

Needs the extra ``connectors``. Nothing listens or calls unless it is configured.
"""

from callboard.errors import ExtraMissing

try:
    import cryptography  # noqa: F401 - only to see whether the extra is there
    import httpx  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    raise ExtraMissing(f"connectors need {missing.name}; run: pip install 'callboard[connectors]'") from missing

from callboard.actors.topology.announcements.connector import Timing
from callboard.connectors.connectors import Connectors
from callboard.connectors.keys import ConnectorKey, read_connector_key
from callboard.connectors.settings import Bridge, ConnectorSettings, Tls

__all__ = ["Bridge", "ConnectorKey", "ConnectorSettings", "Connectors", "Timing", "Tls", "read_connector_key"]
