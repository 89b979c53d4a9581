"""The one message that is JSON on the log, because programs other than callboard read the topic ``event``.

The property names are those of Apache Sling's message, so its readers can read ours.
"""

import json
from typing import Any

from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import PackageDistributedMessage


def encode_json(event: PackageDistributedMessage) -> bytes:
    """The event as a JSON object in UTF-8."""
    properties = {
        "pubAgentName": event.publisher,
        "packageId": event.package_id,
        "deepPaths": event.deep_paths,
        "paths": event.paths,
        "offset": event.offset,
    }
    return json.dumps(properties, ensure_ascii=False).encode()


def decode_json(data: bytes) -> PackageDistributedMessage:
    """Decode the event; unknown properties are ignored.

    Raises ``Undecodable`` for bytes that are not such an event.
    """
    properties = json_object(data, "a PackageDistributedMessage")
    return PackageDistributedMessage(
        publisher=_demand(properties, "pubAgentName", str),
        package_id=_demand(properties, "packageId", str),
        deep_paths=_paths(properties, "deepPaths"),
        paths=_paths(properties, "paths"),
        offset=_demand(properties, "offset", int),
    )


def json_object(data: bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object whose values all messages and logs can hold.

    Raises ``Undecodable``, saying that ``what`` was expected; also for a lone surrogate in a text, and for integers of
    more than 64 bits.
    """
    try:
        properties = json.loads(data, parse_int=_int64)
        json.dumps(properties, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"{len(data)} bytes are not {what}: {error}") from error
    if not isinstance(properties, dict):
        raise Undecodable(f"{what} is a JSON object; this is not one")
    return properties


def _int64(digits: str) -> int:
    number = int(digits)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{digits:.30} is not a 64-bit number")
    return number


def _demand(properties: dict[str, Any], name: str, kind: type) -> Any:
    value = properties.get(name)
    if type(value) is not kind:
        raise Undecodable(f"PackageDistributedMessage.{name} is {value!r:.80}, not of type {kind.__name__}")
    return value


def _paths(properties: dict[str, Any], name: str) -> tuple[str, ...]:
    paths = properties.get(name) or []  # the original writes null for none
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise Undecodable(f"PackageDistributedMessage.{name} is {paths!r:.80}, not a list of strings")
    return tuple(paths)
