"""The user that this process acts for."""

import getpass


def current_user() -> str:
    """The user's name; empty for a process without one, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
