"""Turns errors of brokers and connections into callboard's, with advice."""

import ssl

from aiokafka import errors

from callboard.errors import CallboardError, ConfigError, LogReplaced, LogUnavailable

OUT_OF_RANGE = 1
UNKNOWN_TOPIC = 3
MESSAGE_TOO_LARGE = 10
INVALID_TIMESTAMP = 32
TOPIC_EXISTS = 36
INVALID_REPLICATION_FACTOR = 38

FORBIDDEN = {29: "the topic", 31: "the cluster"}
"""Error codes of refused permissions, and the object of each."""

STALE = {
    UNKNOWN_TOPIC,
    5,  # no leader yet, or its end is not settled after it was elected
    6,  # not the leader any more
    7,  # timed out at the broker
    8,  # broker not available
    9,  # replica not available
    13,  # network
    14,  # coordinator loading
    15,  # no coordinator yet
    19,  # not enough replicas
    20,  # not enough replicas, noticed after the append
    41,  # not the controller
    56,  # storage
    74,  # fenced leader epoch
    75,  # unknown leader epoch
    78,  # end not available yet
    100,  # unknown topic id
    103,  # inconsistent topic id
}
"""Codes after which the same request may succeed, once the leader is looked up again."""

UNKNOWN_OUTCOME = "Whether the records were written is unknown: append them again"


def described(code: int) -> str:
    """A broker's error code in words."""
    kind = errors.for_code(code)
    return f"error {code}, {kind.__name__}: {(kind.description or '').split('.')[0]}"


def refused(code: int, topic: str, consequence: str = "") -> CallboardError:
    """The error for an answer that a retry will not change."""
    if code in FORBIDDEN:
        return ConfigError(
            f"Kafka refuses this user {FORBIDDEN[code]} ({topic!r}); allow READ, WRITE, CREATE, DELETE and "
            "DESCRIBE_CONFIGS on it with kafka-acls"
        )
    if code == INVALID_TIMESTAMP:
        return LogUnavailable(
            f"Kafka refuses the time of records for topic {topic!r}; set this host's clock right "
            "(message.timestamp.after.max.ms allows an hour)"
        )
    reason = f"Kafka refuses a request about topic {topic!r} ({described(code)}); see the broker's log"
    return LogUnavailable(f"{reason}. {consequence}" if consequence else reason)


def unreachable(error: Exception, host: str, port: int, protocol: str, said: str) -> CallboardError:
    """The error for a connection that failed or broke; ``said`` is the part of its text that may be shown."""
    where = f"Kafka at {host}:{port}"
    if isinstance(error, errors.AuthenticationFailedError | errors.SaslAuthenticationFailed):
        return ConfigError(f"{where} refuses the user name or password; check sasl_username and sasl_password_env")
    if isinstance(error, errors.UnsupportedSaslMechanismError):
        return ConfigError(f"{where} does not offer this sasl_mechanism; {said}")
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConfigError(
            f"the certificate of {where} is not trusted ({error.verify_message}); name its authority in ssl_cafile="
        )
    if isinstance(error, ssl.SSLError):
        return ConfigError(
            f"{where} does not speak TLS as security_protocol={protocol} demands ({error.reason}); "
            "check the port and security_protocol"
        )
    if isinstance(error, errors.IncompatibleBrokerVersion | NotImplementedError):
        return ConfigError(f"{where} is too old ({said}); callboard needs Kafka 3.1 or newer")
    return LogUnavailable(f"{where} {_advice(error, protocol, said)}. The call is retried")


def _advice(error: Exception, protocol: str, said: str) -> str:
    if isinstance(error, TimeoutError):
        return "does not answer; check that the broker runs, and the network"
    if isinstance(error, ConnectionRefusedError):
        return "refuses connections; check that the broker runs and the port is right"
    if isinstance(error, OSError) and type(error).__name__ == "gaierror":
        return f"cannot be found ({error.strerror}); correct the host in the URL of the log"
    if isinstance(error, errors.KafkaConnectionError | OSError | EOFError):
        return f"closed the connection; check that the broker runs, and that it expects security_protocol={protocol}"
    return f"failed ({said}); see the broker's log"


def replaced(topic: str) -> LogReplaced:
    """The error for a topic that was deleted and re-created."""
    return LogReplaced(
        f"topic {topic!r} was deleted and created again since it was opened; "
        "its offsets start over, so decide where to start"
    )
