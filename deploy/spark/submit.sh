#!/bin/sh
# Runs a job of `callboard pipeline` by spark-submit:  deploy/spark/submit.sh rebuild --out ./tables
#
# MASTER       where it runs: local[*] unless something else is said; spark://HOST:7077, yarn, local-cluster[2,1,1024], ...
# ENVIRONMENT  a file of pack.sh, for nodes that have no callboard of their own
# PYTHON       the interpreter of the driver: that of an environment with callboard[spark]; python3 unless something else
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
spark_submit=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")/spark-submit
[ -x "$spark_submit" ] || spark_submit=spark-submit
export PYSPARK_DRIVER_PYTHON="$python" PYSPARK_PYTHON="${PYSPARK_PYTHON:-$python}"
if [ -n "${ENVIRONMENT:-}" ]; then
  # Workers find it unpacked in their folder. A data source is planned by workers of the driver: they need it in this one.
  [ ! -e environment ] || { echo "there is something named environment in $(pwd); go to another folder" >&2; exit 2; }
  ln -s "$("$python" -c 'import sys; print(sys.prefix)')" environment
  trap 'rm -f environment' EXIT INT TERM
  export PYSPARK_PYTHON=./environment/bin/python
fi
"$spark_submit" --master "${MASTER:-local[*]}" --name "callboard ${1:-}" --properties-file "$here/spark.properties" \
  ${ENVIRONMENT:+--archives "$ENVIRONMENT#environment"} "$here/job.py" pipeline "$@"
