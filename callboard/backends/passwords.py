"""URLs as they may be shown: in lines of the log, in errors, and in what is written for everybody to read."""

import re

_PASSWORD = re.compile(r"(://[^:/@]*):.*@")
"""Up to the last @: what is in a password may not have been encoded."""
_PASSWORD_OPTION = re.compile(r"(://[^?&]*[?&].*?password)(?!_env=)[^&]*", re.IGNORECASE)


def without_password(url: str) -> str:
    """The URL without its password, wherever that is in it; what is no URL as it is."""
    return _PASSWORD_OPTION.sub(r"\1=***", _PASSWORD.sub(r"\1:***@", url))
