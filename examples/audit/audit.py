"""Who has which rule, in which version, since when, and why not: a question to the whole history, by Spark.

    python audit.py

Each topic of the log is a table; the rest is SQL.
"""

from pyspark.sql import DataFrame, SparkSession

from callboard.pipeline.session import open_session

VERSIONS = """
    SELECT path, offset, package.user AS by, rank() OVER (PARTITION BY path ORDER BY offset DESC) AS age
    FROM packages LATERAL VIEW explode(package.paths) AS path WHERE package.kind = 'ADD'
"""

OUTCOMES = """
    SELECT status.subscriber, status.offset, max_by(status.status, status.sequence) AS outcome,
           max_by(status.reason, status.sequence) AS reason, timestamp_micros(max(time_ns) DIV 1000) AS since
    FROM reports WHERE status IS NOT NULL GROUP BY ALL
"""

OFFICES = "SELECT DISTINCT discovery.subscriber AS office FROM announcements WHERE discovery IS NOT NULL"

WHO_HAS_WHAT = """
    SELECT path, office, versions.offset AS version, by,
           coalesce(lower(outcome), 'not reported') AS outcome, since, coalesce(reason, '') AS reason
    FROM versions CROSS JOIN offices
    LEFT JOIN outcomes ON outcomes.subscriber = office AND outcomes.offset = versions.offset
    WHERE age = 1 ORDER BY path, office
"""


def audit(spark: SparkSession) -> DataFrame:
    """The newest version of each path, and what became of it in each office."""
    records = spark.read.format("callboard").option("board", "callboard.toml")
    for name, topic in {"packages": "package", "reports": "status", "announcements": "discovery"}.items():
        records.option("topic", topic).load().createOrReplaceTempView(name)
    for name, question in {"versions": VERSIONS, "outcomes": OUTCOMES, "offices": OFFICES}.items():
        spark.sql(question).createOrReplaceTempView(name)
    return spark.sql(WHO_HAS_WHAT)


if __name__ == "__main__":
    session = open_session("audit")
    for row in audit(session).collect():
        since = f"since {row.since:%Y-%m-%d %H:%M:%S}" if row.since else ""
        version = f"{row.path}, version {row.version} of {row.by}"
        print(f"{version}: {row.outcome} in {row.office} {since} {row.reason}".rstrip())
    session.stop()
