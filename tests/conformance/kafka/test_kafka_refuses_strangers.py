"""Wrong names, passwords, certificates and protocols: the error that the user gets."""

import asyncio
import socket
from contextlib import closing
from urllib.parse import urlencode

import pytest

from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.errors import ConfigError, LogUnavailable
from callboard.messages.record import NewRecord
from callboard.testing.servers.kafka import LocalKafka

CLOSED_S = 30.0
PASSWORD = {"PASSWORD": "ann's secret", "WRONG": "anne's secret"}


async def use(servers: str, **options: str) -> None:
    """Open a log with these options and make a round trip."""
    url = f"kafka://{servers}/?{urlencode({'request_timeout_ms': '500'} | options)}"
    log = KafkaLog(parse_address(url, PASSWORD))
    try:
        await log.ensure("package")
        (offset,) = await log.append("package", [NewRecord(payload=b"x")])
        assert (await log.read("package", offset))[0].payload == b"x"
    finally:
        await log.close()
        await all_sockets_are_closed()


async def all_sockets_are_closed() -> None:
    """Over TLS, a refused connection is closed only when the broker closes it, too."""
    async with asyncio.timeout(CLOSED_S):
        while len(asyncio.get_running_loop()._selector.get_map()) > 1:  # type: ignore[attr-defined]  # noqa: ASYNC110 - its own pipe stays
            await asyncio.sleep(0.01)


def secure(kafka: LocalKafka, **options: str) -> dict[str, str]:
    usual = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "ann",
        "sasl_password_env": "PASSWORD",
        "ssl_cafile": str(kafka.certificate),
        "request_timeout_ms": "5000",
    }
    return {name: value for name, value in (usual | options).items() if value}


@pytest.mark.kafka
def test_the_right_password_over_tls_is_accepted(secure_kafka: LocalKafka) -> None:
    asyncio.run(use(secure_kafka.secure_bootstrap, **secure(secure_kafka)))


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"sasl_password_env": "WRONG"}, "refuses the user name or password; check sasl_username"),
        ({"sasl_username": "bob"}, "refuses the user name or password; check sasl_username"),
        ({"sasl_mechanism": "SCRAM-SHA-256"}, "does not offer this sasl_mechanism"),
        ({"ssl_cafile": ""}, "is not trusted .*ssl_cafile="),
    ],
)
def test_a_refused_connection_names_the_wrong_option(
    secure_kafka: LocalKafka, options: dict[str, str], advice: str
) -> None:
    with pytest.raises(ConfigError, match=advice) as caught:
        asyncio.run(use(secure_kafka.secure_bootstrap, **secure(secure_kafka, **options)))
    assert "secret" not in str(caught.value)


@pytest.mark.kafka
def test_tls_to_a_port_without_it_names_the_protocol(secure_kafka: LocalKafka) -> None:
    with pytest.raises((ConfigError, LogUnavailable), match="security_protocol"):
        asyncio.run(use(secure_kafka.bootstrap, **secure(secure_kafka, request_timeout_ms="1000")))


@pytest.mark.kafka
def test_plain_text_to_a_port_with_tls_names_the_protocol(secure_kafka: LocalKafka) -> None:
    with pytest.raises(LogUnavailable, match="security_protocol=PLAINTEXT"):
        asyncio.run(use(secure_kafka.secure_bootstrap))


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(LogUnavailable, match=r"kafka.invalid:9092 cannot be found .*correct the host in the URL"):
        asyncio.run(use("kafka.invalid"))


def test_a_port_without_a_listener_is_named() -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(LogUnavailable, match=f"127.0.0.1:{port} refuses connections; check that the broker runs"):
            asyncio.run(use(f"127.0.0.1:{port}"))


def test_a_server_that_never_answers_is_given_up_soon() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent, pytest.raises(LogUnavailable, match="not answer"):
        asyncio.run(use(f"127.0.0.1:{silent.getsockname()[1]}"))
