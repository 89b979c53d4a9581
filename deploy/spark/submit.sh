#!/bin/sh
# Runs a job of `callboard pipeline` by spark-submit:  deploy/spark/submit.sh rebuild --out ./tables
#
# MASTER       where it runs: spark://HOST:7077, yarn, local-cluster[2,1,1024], ...; default: local[*]
# ENVIRONMENT  a file made by pack.sh, for nodes without callboard
# PYTHON       the driver's interpreter, in an environment with callboard[spark]; default: python3
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
spark_submit=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")/spark-submit
[ -x "$spark_submit" ] || spark_submit=spark-submit
export PYSPARK_DRIVER_PYTHON="$python" PYSPARK_PYTHON="${PYSPARK_PYTHON:-$python}"
if [ -n "${ENVIRONMENT:-}" ]; then
  # Workers find it unpacked in their folder. The driver's own workers plan data sources, and need it in this folder.
  [ ! -e environment ] || { echo "there is something named environment in $(pwd); go to another folder" >&2; exit 2; }
  ln -s "$("$python" -c 'import sys; print(sys.prefix)')" environment
  trap 'rm -f environment' EXIT INT TERM
  export PYSPARK_PYTHON=./environment/bin/python
fi
"$spark_submit" --master "${MASTER:-local[*]}" --name "callboard ${1:-}" --properties-file "$here/spark.properties" \
  ${ENVIRONMENT:+--archives "$ENVIRONMENT#environment"} "$here/job.py" pipeline "$@"
