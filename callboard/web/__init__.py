"""What callboard serves over HTTP: the console, the API, and the endpoints of long-running commands.

Needs the extra ``web``.
"""

from callboard.errors import ExtraMissing

try:
    import argon2  # noqa: F401 - only to see whether the extra is there
    import itsdangerous  # noqa: F401
    import jinja2  # noqa: F401
    import python_multipart  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    raise ExtraMissing(
        f"what callboard serves over HTTP needs {missing.name}; run: pip install 'callboard[web]'"
    ) from missing

from callboard.web.app import board_app, board_lifespan
from callboard.web.endpoints.app import health_app
from callboard.web.signin.access import Access, Provider
from callboard.web.user import Role, User

__all__ = ["Access", "Provider", "Role", "User", "board_app", "board_lifespan", "health_app"]
