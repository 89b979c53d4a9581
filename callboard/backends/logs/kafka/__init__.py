"""The log over Kafka: one partition a topic, no consumer group; callboard stores positions itself."""

from importlib.util import find_spec

from callboard.backends.log import Log
from callboard.backends.logs.kafka.address import parse_address
from callboard.errors import ExtraMissing


def open_kafka(url: str) -> Log:
    """The log that ``kafka://host:port,host:port/?option=value`` names; see ``address.py`` for the options.

    Raises:
        ConfigError: for an invalid URL.
        ExtraMissing: when aiokafka is not installed.
    """
    address = parse_address(url)
    if find_spec("aiokafka") is None:
        raise ExtraMissing("a kafka: log needs aiokafka; run: pip install 'callboard[kafka]'")
    from callboard.backends.logs.kafka.log import KafkaLog

    return KafkaLog(address)
