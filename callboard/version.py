"""The version of the package; ``pyproject.toml`` reads it here: to look it up costs more than most commands may."""

__version__ = "0.1.0"
