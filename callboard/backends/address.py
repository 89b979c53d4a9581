"""Addresses in a form that may be shown: scheme, hosts, port and path, and nothing that could be part of a password.

Only parts that were parsed with certainty are shown. A password with an unencoded ``@`` or ``/`` can end up in any part
of a URL, and a mistyped URL has no parts at all, so anything doubtful is replaced by ``…``.
"""

import re
import unicodedata
from urllib.parse import unquote

from callboard.errors import ConfigError

HIDDEN = "…"
"""Stands for a part that is not shown."""

LOCAL = ("folder", "sqlite")
"""The schemes of local places, whose paths are shown."""

_DECODINGS = 3
"""Text encoded more often than this was not encoded by mistake."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,31}):(.*)", re.DOTALL)
_URL = re.compile(r"//(?:([^/?#]*)@)?([^/?#@]*)([^?#]*)(.*)", re.DOTALL)
_HOST = re.compile(r"(?:[A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9.]+)?\])(?::([0-9]{1,5})?)?")
_PORT_MAX = 65535
_PLAIN_PATH = re.compile(r"[\w /.~+,()!-]*")
_BLANK = re.compile(r"\s")

_PASSWORD = re.compile(r"(//[^:/?#]*):[^/?#]*@")
_KEY = re.compile(r"\s*(\w+)\s*=")
_TWO_PAIRS = re.compile(r"\s*\w+\s*=\s*\S+\s+\w+\s*=")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s'\\]*)(?=\s|$)", re.DOTALL)
_PAIRS = frozenset((
    "host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "options", "application_name",
    "client_encoding", "connect_timeout", "sslmode", "sslcert", "sslkey", "sslpassword", "sslrootcert", "sslcrl",
    "target_session_attrs", "channel_binding", "require_auth", "gssencmode", "krbsrvname", "keepalives",
))  # fmt: skip
"""The keys of a connection string."""
_SECRET_KEY = re.compile(r"(?:pass|pwd|secret|token|sasl|credential|(?:api|access|private)_?key)\w*\s*=", re.IGNORECASE)


def shown(place: str) -> str:
    """A URL, connection string or path as far as it may be shown; idempotent."""
    if _is_connection_string(place):
        return _pairs(place)
    if (match := _SCHEME.fullmatch(place)) is None:
        return HIDDEN if ":" in decoded(place).partition("/")[0] else _path(place)
    scheme, rest = match.groups()
    if scheme in LOCAL:
        return f"{scheme}:{_path(rest)}"
    if rest.startswith("//"):
        return f"{scheme}:{_url(rest)}"
    if not rest:
        return place
    return f"{scheme}:{HIDDEN}" if rest.startswith(("/", HIDDEN)) else HIDDEN


def is_shown_in_full(place: str) -> bool:
    """Whether nothing of it is hidden."""
    return shown(place) == place


def is_mistaken(path: str) -> bool:
    """Whether a supposed path looks like an address with a user or a password; no real path begins like that."""
    return not path.startswith(("/", ".")) and not is_shown_in_full(path)


def demand_path(path: str) -> str:
    """The path itself. Raises ``ConfigError`` if it is mistaken."""
    if is_mistaken(path) or (path.startswith("//") and not is_shown_in_full(path)):
        raise ConfigError(
            f"{shown(path)!r} looks like an address with a password, not like a path; write it with its scheme, "
            "such as postgresql://user@host/database, or give the absolute path"
        )
    return path


def without_passwords(url: str) -> str:
    """The URL without passwords, to identify it by: even a digest of a password can be guessed. Do not show it."""
    address, mark, query = _PASSWORD.sub(r"\1@", url).partition("?")
    options = [option for option in query.split("&") if not _SECRET_KEY.search(decoded(option))]
    return f"{address}{mark}{'&'.join(options)}"


def host_shown(host: str) -> str:
    """A host, several hosts separated by commas, or the folder of a socket."""
    folder = decoded(host)
    if all(map(_is_host, host.split(","))) or (folder.startswith("/") and is_shown_in_full(folder)):
        return host
    return HIDDEN


def decoded(text: str) -> str:
    """The text without URL encoding, even if it was encoded twice, and with ``@`` in place of its full-width form."""
    for _ in range(_DECODINGS):
        text = unquote(text)
    return unicodedata.normalize("NFKC", text)


def _is_connection_string(place: str) -> bool:
    key = _KEY.match(decoded(place))
    return key is not None and (
        key[1].lower() in _PAIRS or _SECRET_KEY.match(key[0].lstrip()) is not None or bool(_TWO_PAIRS.match(place))
    )


def _pairs(text: str) -> str:
    """Host and dbname of ``host=... dbname=... password=...``, if all of it can be parsed."""
    found, at = dict[str, str](), 0
    while at < len(text.rstrip()):
        pair = _PAIR.match(text, at)
        if pair is None or pair[1] not in _PAIRS:
            return HIDDEN
        found[pair[1]], at = pair[2], pair.end()
    named = {key: found[key] for key in ("host", "dbname") if key in found}
    if not named or not all(_is_host(value) and ":" not in value for value in named.values()):
        return HIDDEN
    return " ".join(f"{key}={value}" for key, value in named.items())


def _url(rest: str) -> str:
    """The part of a URL after the colon of the scheme."""
    match = _URL.fullmatch(rest)
    if match is None:
        return HIDDEN
    user, hosts, path, more = match.groups()
    names = decoded(path)
    if _SECRET_KEY.search(decoded(user or "")):
        return HIDDEN  # options in place of a user: the @ may be part of a password
    if "@" in more or "@" in path or ":" in names or host_shown(hosts) != hosts or _BLANK.search(path):
        return HIDDEN
    return f"//{hosts}{path}" if _PLAIN_PATH.fullmatch(names) else f"//{hosts}/{HIDDEN}"


def _path(path: str) -> str:
    """A local path, cut at the first name that could belong to an address."""
    names, meant = path.split("/"), [decoded(name) for name in path.split("/")]
    for place, name in enumerate(meant):
        rest = "/".join(meant[place:])
        is_user = ":" in name and "@" in rest
        is_option = "?" in name and "=" in rest
        is_scheme = name.endswith(":") and rest.startswith(f"{name}//")
        if is_user or is_option or is_scheme or _SECRET_KEY.search(name):
            return "/".join([*names[:place], HIDDEN])
    return path


def _is_host(text: str) -> bool:
    match = _HOST.fullmatch(text)
    return match is not None and int(match[1] or 0) <= _PORT_MAX
