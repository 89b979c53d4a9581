"""How long Spark takes to find the queues of all subscribers in the history of a PostgreSQL log.

Needs the extra ``spark`` and Java. ``--records`` is the number of packages, by default 1 million, with as many
statuses; it is measured at every power of ten from 10^5 up to it.
"""

import argparse
import asyncio
import os
import tempfile
import time

from pyspark.sql import SparkSession
from report import Report, quick, rounds
from spark_log import SUBSCRIBERS, fill

from callboard.pipeline.session import open_session
from callboard.pipeline.tables.queues import queue_states
from callboard.pipeline.tables.standings import standings
from callboard.pipeline.tables.topics import TopicTables
from callboard.testing.servers.postgres import postgres_server

ROUNDS = 3


def queues(spark: SparkSession) -> None:
    """Make new tables each time: Spark keeps the shuffled part of one that was computed before."""
    topics = TopicTables(spark, {"logVariable": "CALLBOARD_LOG"}, 2)
    discovery, statuses, packages = (topics.table(name) for name in ("discovery", "status", "package"))
    found = queue_states(packages, standings(discovery, statuses, topics.extent("package").log_id)).collect()
    assert len(found) == SUBSCRIBERS


def measure(report: Report, spark: SparkSession, count: int) -> None:
    def rate() -> float:
        """Packages a second."""
        begun = time.perf_counter()
        queues(spark)
        return count / (time.perf_counter() - begun)

    [figures] = rounds(ROUNDS, {"queues": rate}).values()
    took = f"{count / sorted(figures)[ROUNDS // 2]:.1f} s"
    report.row(f"all queues of {SUBSCRIBERS} subscribers, {count:,} packages and as many statuses", figures,
               unit="packages/s", note=took)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000 if quick() else 1_000_000)
    parser.add_argument("--quick", action="store_true", help="100 000 records")
    said = parser.parse_args()
    report = Report("spark_queues")
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        os.environ["CALLBOARD_LOG"] = server.tcp_url
        spark = open_session("benchmark", {"spark.local.dir": folder})
        count = min(100_000, said.records)
        while count <= said.records:
            asyncio.run(fill(server.tcp_url, count))
            measure(report, spark, count)
            count *= 10
        spark.stop()
    report.write()


if __name__ == "__main__":
    main()
