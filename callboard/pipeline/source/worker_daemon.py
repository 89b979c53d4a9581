"""What Spark forks its Python workers from. It has loaded what they need, which else each of them does for itself.

A source is made, planned and read by several processes: most of the time of a small job was imports.
"""

from pyspark.daemon import manager

import callboard.pipeline.source.source  # noqa: F401 - so that the workers have it

if __name__ == "__main__":
    manager()
