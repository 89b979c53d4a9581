"""URLs of Kafka logs."""

from pathlib import Path

import pytest

from callboard.backends.logs.kafka.address import parse_address
from callboard.errors import ConfigError


def test_servers_without_a_port_get_the_default_port() -> None:
    assert parse_address("kafka://one:1,two,[::1]:3").servers == (("one", 1), ("two", 9092), ("::1", 3))


def test_options_of_the_url_are_passed_on() -> None:
    address = parse_address("kafka://one/?replication_factor=3&retention_ms=86400000&request_timeout_ms=500")
    assert (address.replication_factor, address.retention_ms, address.request_timeout_ms) == (3, 86_400_000, 500)
    assert dict(address.security) == {"security_protocol": "PLAINTEXT"}


def test_a_password_comes_from_the_environment() -> None:
    url = "kafka://one/?security_protocol=SASL_SSL&sasl_mechanism=SCRAM-SHA-512&sasl_username=ann&sasl_password_env=PW"
    security = parse_address(url, {"PW": "secret"}).security
    assert security["sasl_plain_password"] == "secret"
    assert security["sasl_mechanism"] == "SCRAM-SHA-512"
    assert security["ssl_context"].check_hostname


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("kafka:", "kafka://host:port"),
        ("kafka:///", "kafka://host:port"),
        ("kafka://one/topic", "kafka://host:port"),
        ("kafka://one:port", "something that is not host:port"),
        ("kafka://one:70000", "something that is not host:port"),
        ("kafka://one,,two", "something that is not host:port"),
        ("kafka://ann:secret@one", "sasl_username"),
        ("kafka://one/?replicationfactor=3", "did you mean replication_factor"),
        ("kafka://one/?replication_factor=three", "whole number"),
        ("kafka://one/?request_timeout_ms=5", "at least 100"),
        ("kafka://one/?security_protocol=TLS", "use one of PLAINTEXT"),
        ("kafka://one/?sasl_username=ann", "no effect with security_protocol=PLAINTEXT"),
        ("kafka://one/?security_protocol=SSL&sasl_username=ann", "no effect with security_protocol=SSL"),
        ("kafka://one/?security_protocol=SASL_PLAINTEXT&sasl_mechanism=OAUTH", "use one of PLAIN"),
        ("kafka://one/?security_protocol=SASL_PLAINTEXT&sasl_password=x", "needs sasl_username"),
        ("kafka://one/?security_protocol=SASL_PLAINTEXT&sasl_username=ann", "sasl_password_env"),
        ("kafka://one/?security_protocol=SASL_PLAINTEXT&sasl_username=ann&sasl_password_env=GONE", "names a variable"),
        ("kafka://one/?security_protocol=SSL&ssl_cafile=/nowhere/ca.pem", "ssl_cafile=/nowhere/ca.pem"),
    ],
)
def test_an_invalid_url_is_refused_with_advice(url: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=advice) as caught:
        parse_address(url, {})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "kafka://one/?security_protocol=SASL_SSLsasl_password=secret",
        "kafka://one/?request_timeout_ms=1000sasl_password=secret",
        "kafka://one/?sasl_passwordsecret",
        "kafka://one/?sasl_password%3Dsecret=1",
        "kafka://one/?clientid=1;sasl_password=secret",
        "kafka://one:9092sasl_password=secret",
        "kafka://one:9092&sasl_password=secret",
        "kafka://one/?security_protocol=SASL_SSL&sasl_username=ann&sasl_password_env=PWsasl_password=secret",
        "kafka://one/?security_protocol=SSL&ssl_cafile=/nowhere/ca.pemsasl_password=secret",
    ],
)
def test_a_url_with_a_forgotten_separator_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(url, {})
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"


def test_the_error_names_a_file_without_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ConfigError, match="readable PEM file"):
        parse_address(f"kafka://one/?security_protocol=SSL&ssl_cafile={tmp_path}/ca.pem")
