"""The release of thespian that the actors run on."""

from importlib.util import find_spec
from pathlib import Path

from callboard.errors import ConfigError

TESTED = "4.0.1"
"""The release whose private names are in ``private_names.py``. No other is known to have them."""


def demand_tested_release() -> None:
    """Check the installed thespian without importing it.

    Raises ``ConfigError`` if it is another release, or another package of this name.
    """
    found = find_spec("thespian")
    folder = Path(found.origin).parent if found is not None and found.origin else None
    # Looking for the folder that pip puts beside it takes a hundredth of the time of importlib.metadata.
    if folder is None or not (folder.parent / f"thespian-{TESTED}.dist-info").is_dir():
        raise ConfigError(
            f"actors run on thespian {TESTED}, and Python finds {f'another in {folder}' if folder else 'none'}; "
            f"run: pip install thespian=={TESTED}, and rename or remove any other thespian on sys.path"
        )
