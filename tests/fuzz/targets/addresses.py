"""The URL of a Kafka log."""

from callboard.backends.logs.kafka.address import parse_address
from callboard.errors import ConfigError

PASSWORD = "&sasl_password=hidden&"


def seeds() -> list[bytes]:
    return [
        b"kafka://host:9092,[::1]:9093/?client_id=x&request_timeout_ms=500&retention_ms=-1",
        b"kafka://h/?security_protocol=SASL_PLAINTEXT&sasl_username=u&sasl_password=hidden&sasl_mechanism=PLAIN",
    ]


def run(data: bytes) -> None:
    url = data.decode(errors="replace")
    try:
        address = parse_address(url, {})
    except ConfigError as error:
        assert PASSWORD not in url or url.count("hidden") > 1 or "hidden" not in str(error)
        return
    assert all(host and 0 < port < 1 << 16 for host, port in address.servers)
