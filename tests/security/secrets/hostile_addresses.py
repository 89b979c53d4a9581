"""Addresses with a password, as people write and mistype them, and the pieces that no message may contain."""

import json
import traceback
from collections.abc import Iterator
from urllib.parse import quote

from hypothesis import strategies as st

HALVES = ("Zq9xW7", "kTvB3n")
"""The password has both, with hostile characters before, between and behind them."""
PIECE = 4
"""As many letters of the password in a row tell something about it."""

HOSTILE = [*"@:/?#[]%&=;, +'\"\\\n\t$!*(){}<>|^`~.-_09é", "%40", "%2F", "://", "..", "''", "@h", "%zz"]

KINDS = [
    "postgresql://ann@corp:{}@db/x",
    "postgresql://a/nn:{}@db/x",
    "postgresql://ann:pass@word/{}@db/x",
    "postgresql://ann:12/{}@db/x",
    "postgresql://ann:12?{}@db/x",
    "postgresql://ann:pw#{}@db/x",
    "postgresql://ann@db/x?sslpassword={}",
    "postgresql://ann@db/x?p%61ssword={}",
    "postgresql://ann@db/x?PASSWORD={}",
    "postgresql://ann@db/x?passfile=/home/{}",
    "host=db dbname=x user=ann password={}",
    "dbname=x password = '{}'",
    "hots=db pasword={}",
    "postgre://ann:{}@db/x",
    "postgresql:/ann:{}@db/x",
    "postgresql//ann:{}@db/x",
    "postgresql:ann:{}@db/x",
    "POSTGRESQL://ann:{}@db/x",
    "ann:{}@db/x",
    "postgresql\uff1a//ann\uff1a{}\uff20db/x",
    "postgresql://ann:{}\uff20db/x",
    "//ann:{}@db/x",
    "postgresql%3A%2F%2Fann%3A{}%40db%2Fx",
    "postgresql://ann:{}@[::1]:5432/x",
    "postgresql://ann:{}@[::1/x",
    "postgresql://ann:{}@db\u2100/x",
    "postgresql://ann:{}@a:1,b:2/x",
    "postgresql://ann:{}",
    "postgresql://db/x#password={}",
    "kafka://one/?security_protocol=SASL_SSL&sasl_username=ann&sasl_password={}",
    "kafka://one/?sasl_password_env={}&security_protocol=SASL_SSL&sasl_username=ann",
    "kafka://one/?sasl_mechanism={}&security_protocol=SASL_SSL&sasl_username=ann",
    "kafka://one/?sasl.jaas.config={}",
    "kafka://one&sasl_password={}",
    "kafka://ann:{}@one",
    "kafka://one:{}",
    "kafka://one/{}@two",
    "s3://bucket/x?secret={}",
    "s3://bucket/x?token={}",
    "s3://bucket/x?{}",
    "s3://bucket/x?aws_secret_access_key={}",
    "s3://AKIA:{}@bucket/x",
    "s3://AKIA/{}@bucket/x",
    "s3://bucket?endpoint_url=http://ann:{}@host",
    "s3://bucket?endpoint_url=http://host/?token={}",
    "s3://bucket?region=eu west {}",
    "http://ann:{}@host/x",
]
"""One of each kind."""


def spellings() -> st.SearchStrategy[str]:
    """The password: raw, encoded, or encoded twice."""
    piece = st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join)
    raw = st.tuples(piece, piece, piece).map(lambda parts: f"{parts[0]}{HALVES[0]}{parts[1]}{HALVES[1]}{parts[2]}")
    return st.tuples(raw, st.integers(0, 2)).map(lambda given: _encoded(*given))


def addresses() -> st.SearchStrategy[str]:
    """URLs, connection strings, and text that is neither."""
    scheme = st.sampled_from(["postgresql", "postgres", "postgre", "POSTGRESQL", "kafka", "s3", "http", "mysql"])
    apart = st.sampled_from(["://", ":/", ":", "//", ":///", ";//", "%3A//", ": //", "\\\\"])
    user = st.sampled_from(["ann", "", "an@n", "a/nn", "an%40n", "a n", "ann:12", "1"])
    hosts = st.sampled_from(["db.example", "db:5432", "[::1]:5432", "a:1,b:2", "", "%2Fvar%2Frun", "db:70000"])
    path = st.sampled_from(["", "/", "/x", "/x/y", "/a%20b", "/x?schema=s", "/x?sslmode=require#f"])
    url = st.tuples(scheme, apart, user, st.just(":"), spellings(), st.just("@"), hosts, path).map("".join)
    key = st.sampled_from(
        ["password", "PASSWORD", "p%61ssword", "sslpassword", "passfile", "secret", "token", "sasl_password",
         "sasl.jaas.config", "aws_secret_access_key", "X-Amz-Signature", "pasword"]
    )  # fmt: skip
    mark = st.sampled_from(["?", "/?", "/x?", "/x?schema=s&", "/x;", "/x&", "#", "/x#", ";", "&", "/x "])
    option = st.tuples(scheme, st.just("://"), hosts, mark, key, st.just("="), spellings()).map("".join)
    before = st.sampled_from(["", "host=db ", "host=db dbname=x ", "hots=db ", "user=ann host='db' "])
    value = spellings() | spellings().map("'{}'".format)
    names = st.sampled_from(["password", "PASSWORD", "sslpassword", "passfile"])
    equals, behind = st.sampled_from(["=", " = "]), st.sampled_from(["", " dbname=x", " x"])
    dsn = st.tuples(before, names, equals, value, behind).map("".join)
    return st.one_of(url, option, dsn)


def pieces(password: tuple[str, ...] = HALVES) -> Iterator[str]:
    """The pieces of the password that may appear nowhere."""
    for half in password:
        folded = half.lower()
        yield from (folded[start : start + PIECE] for start in range(len(folded) - PIECE + 1))


def betrayed(text: object) -> list[str]:
    """The pieces of the password that are in a text."""
    said = str(text).lower()
    return [piece for piece in pieces() if piece in said]


def told(error: BaseException) -> str:
    """Everything that a traceback shows of an error, its causes included, and the lines as JSON has them."""
    lines = "".join(traceback.format_exception(error))
    return f"{lines}{json.dumps(lines)}{error!r}"


def _encoded(text: str, times: int) -> str:
    for _ in range(times):
        text = quote(text, safe="")
    return text
