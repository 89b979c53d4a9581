"""The process that Spark forks its Python workers from, with their imports loaded once for all.

A source is made, planned and read by several processes; without this, a small job spends most of its time on imports.
"""

from pyspark.daemon import manager

import callboard.pipeline.source.source  # noqa: F401 - so that the workers have it

if __name__ == "__main__":
    manager()
