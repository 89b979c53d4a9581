"""The log over Kafka: one partition a topic, no consumer group, offsets that callboard keeps itself."""

from callboard.backends.log import Log
from callboard.errors import ExtraMissing


def open_kafka(url: str) -> Log:
    """The log that ``kafka://host:port,host:port/?option=value`` names; see ``address.py`` for the options.

    Raises:
        ConfigError: for a URL that cannot be understood.
        ExtraMissing: when aiokafka is not installed.
    """
    try:
        import aiokafka  # noqa: F401 - so that the error is not about one of its modules
    except ImportError:
        raise ExtraMissing("kafka: needs aiokafka; pip install 'callboard[kafka]'") from None
    from callboard.backends.logs.kafka.address import parse_address
    from callboard.backends.logs.kafka.log import KafkaLog

    return KafkaLog(parse_address(url))
