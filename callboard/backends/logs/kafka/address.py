"""The URL of a Kafka log."""

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl

from callboard.backends.address import HIDDEN, host_shown, shown
from callboard.errors import ConfigError

DEFAULT_PORT = 9092
REQUEST_TIMEOUT_MS = 10_000
KEEP_FOR_EVER = -1
BROKERS_DEFAULT = -1

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
OPTIONS = (
    "security_protocol", "sasl_mechanism", "sasl_username", "sasl_password", "sasl_password_env",
    "ssl_cafile", "ssl_certfile", "ssl_keyfile",
    "replication_factor", "retention_ms", "retention_bytes", "request_timeout_ms", "client_id",
)  # fmt: skip

_FORM = "kafka://host:port,host:port/?option=value"
_URL = re.compile(r"kafka:(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
"""``urlsplit`` is no use: newer releases of Python refuse several hosts if a later one is an [address]."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the cluster is, how to authenticate, and the settings of new topics.

    Attributes:
        servers: host and port of the brokers to ask for the others.
        security: arguments of ``aiokafka.conn.create_conn``.
        request_timeout_ms: how long one request may take, and how long a call retries.
        client_id: the name of this process in the brokers' logs and quotas.
        replication_factor: of new topics.
        retention_ms: of new topics, besides ``Log.trim``.
        retention_bytes: likewise.
    """

    servers: tuple[tuple[str, int], ...]
    security: Mapping[str, Any] = field(repr=False)
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    client_id: str = "callboard"
    replication_factor: int = BROKERS_DEFAULT
    retention_ms: int = KEEP_FOR_EVER
    retention_bytes: int = KEEP_FOR_EVER


def parse_address(url: str, environ: Mapping[str, str] = os.environ) -> Address:
    """Parse ``kafka://host:port,host:port/?option=value``.

    ``sasl_password_env`` is looked up in ``environ``. Raises ``ConfigError``, which repeats neither names nor values of
    options: if an & was forgotten, a password is part of them.
    """
    if (parts := _URL.fullmatch(url)) is None:
        raise ConfigError(f"a kafka: URL is {_FORM}, and this is {shown(url)}")
    hosts, path, query, fragment = parts.groups("")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            near = get_close_matches(name, OPTIONS, 1)
            fix = f"did you mean {near[0]}?" if near else f"choose from {', '.join(OPTIONS)}"
            raise ConfigError(f"the kafka: URL {shown(url)} has an unknown option; {fix}")
    if "@" in hosts:
        raise ConfigError("a kafka: URL names no user before the host; use ?sasl_username= and &sasl_password_env=")
    if path not in ("", "/") or fragment or not hosts:
        raise ConfigError(f"a kafka: URL is {_FORM}, and nothing else; this is {shown(url)}")
    return Address(
        servers=tuple(_server(text) for text in hosts.split(",")),
        security=_security(options, environ),
        client_id=options.get("client_id", "callboard"),
        request_timeout_ms=_number(options, "request_timeout_ms", REQUEST_TIMEOUT_MS, 100),
        replication_factor=_number(options, "replication_factor", BROKERS_DEFAULT, BROKERS_DEFAULT),
        retention_ms=_number(options, "retention_ms", KEEP_FOR_EVER, KEEP_FOR_EVER),
        retention_bytes=_number(options, "retention_bytes", KEEP_FOR_EVER, KEEP_FOR_EVER),
    )


def _server(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(DEFAULT_PORT)
    if host.startswith("[") and host.endswith("]"):  # an IPv6 address
        host = host[1:-1]
    if not host or set("[]") & set(host) or host_shown(text) == HIDDEN or not port.isdecimal() or not int(port):
        raise ConfigError("a kafka: URL has something that is not host:port; write for instance kafka.example:9092")
    return host, int(port)


def _number(options: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = options.get(name, str(default))
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ConfigError(f"{name} in a kafka: URL is not a whole number of at least {least}")
    return number


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    chosen = options.get(name, choices[0])
    if chosen not in choices:
        raise ConfigError(f"{name} in a kafka: URL is unknown; use one of {', '.join(choices)}")
    return chosen


def _security(options: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any]:
    protocol = _choice(options, "security_protocol", SECURITY_PROTOCOLS)
    given: dict[str, Any] = {"security_protocol": protocol}
    for prefix, needed in (("sasl_", protocol.startswith("SASL")), ("ssl_", protocol.endswith("SSL"))):
        useless = [name for name in options if name.startswith(prefix) and not needed]
        if useless:
            raise ConfigError(f"{useless[0]} has no effect with security_protocol={protocol}; use SASL_SSL, or drop it")
    if protocol.startswith("SASL"):
        given["sasl_mechanism"] = _choice(options, "sasl_mechanism", SASL_MECHANISMS)
        given["sasl_plain_username"] = options.get("sasl_username", "")
        given["sasl_plain_password"] = _password(options, environ)
        if not given["sasl_plain_username"]:
            raise ConfigError(f"security_protocol={protocol} needs sasl_username=")
    if protocol.endswith("SSL"):
        given["ssl_context"] = _ssl_context(options)
    return given


def _password(options: Mapping[str, str], environ: Mapping[str, str]) -> str:
    name = options.get("sasl_password_env", "")
    if name and name not in environ:
        raise ConfigError("sasl_password_env names a variable that is not set in the environment; set or correct it")
    password = environ[name] if name else options.get("sasl_password", "")
    if not password:
        raise ConfigError("SASL needs a password; set an environment variable and name it in sasl_password_env=")
    return password


def _ssl_context(options: Mapping[str, str]) -> ssl.SSLContext:
    cafile, certfile, keyfile = (options.get(f"ssl_{name}file") for name in ("ca", "cert", "key"))
    try:
        context = ssl.create_default_context(cafile=cafile)
        if certfile:
            context.load_cert_chain(certfile, keyfile)
    except OSError as error:
        raise ConfigError(
            f"TLS to Kafka cannot be set up from {_files(options)}: {error.strerror or type(error).__name__}; each has "
            "to be a readable PEM file"
        ) from None
    return context


def _files(options: Mapping[str, str]) -> str:
    names = ("ssl_cafile", "ssl_certfile", "ssl_keyfile")
    return ", ".join(f"{name}={shown(options[name])}" for name in names if name in options)
