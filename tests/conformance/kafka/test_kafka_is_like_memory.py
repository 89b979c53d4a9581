"""In any history of operations, a log over Kafka answers like the log in memory."""

from functools import partial

import pytest

from callboard.testing.conformance.candidates.kafka import kafka_log, kafka_mock_log
from callboard.testing.conformance.log.like_memory import compare_histories


@pytest.mark.kafka
def test_random_histories_on_a_real_broker_match_the_log_in_memory(kafka: str) -> None:
    compare_histories(partial(kafka_log, kafka), examples=40)


def test_random_histories_on_the_mock_match_the_log_in_memory(kafka_mock: str) -> None:
    compare_histories(partial(kafka_mock_log, kafka_mock))
