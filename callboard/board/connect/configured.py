"""The board that a configuration describes, for the command line and for services."""

from typing import TYPE_CHECKING

from callboard.board.connect.settings import Publishing, SitePlace
from callboard.board.connect.signing_keys import Keys, read_keys
from callboard.board.connect.territory import Territory

if TYPE_CHECKING:
    from callboard.config import Config


class BoardOptions(Keys):
    """The configured options of a board, as ``Callboard`` and ``BoardSettings`` take them."""

    log: str
    blobs: str
    prefix: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    blob_grace_s: float
    publishing: Publishing
    blobs_for: str
    job_context: tuple[str, ...]
    sites: dict[str, SitePlace]


def board_options(config: "Config", *, events: bool = True) -> BoardOptions:
    """The options of the board; without ``events``, its publishers leave the event topic to others.

    Raises ``ConfigError`` for a key that cannot be read.
    """
    its = config.publisher
    publishing = Publishing(
        max_package_mb=its.max_package_mb,
        throttle_by=its.throttle_by,
        throttle_for=its.throttle_for,
        throttle_at=its.throttle_at,
        throttle_max_s=its.throttle_max_s,
        events=its.events if events else (),
        compress=its.compress,
    )
    return BoardOptions(
        log=config.log,
        blobs=config.blobs,
        prefix=config.prefix,
        include=its.include,
        exclude=its.exclude,
        blob_grace_s=config.janitor.grace_hours * 3600 if config.janitor.enabled else 0.0,
        publishing=publishing,
        blobs_for=config.archive.place,
        job_context=config.job_context,
        sites={name: SitePlace(its.to, its.to_blobs) for name, its in config.relays.items() if its.to},
        **read_keys(config.signing_key, config.trusted_keys),
    )


def add_configured_targets(territory: Territory, config: "Config") -> None:
    """Register where the configured subscribers import to: nothing is shipped from there. Raises ``ConfigError``."""
    for section in (config.subscriber, *config.subscribers.values()):
        if section.into:
            territory.add_target(section.into)
