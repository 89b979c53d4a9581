#!/bin/sh
# Packs a virtual environment with callboard[spark] for a cluster:  deploy/spark/pack.sh VENV environment.tar.gz
#
# Spark is left out, because nodes have their own. So is the interpreter: it must be at the same path on every node.
set -eu
[ $# -eq 2 ] || { echo "usage: $0 VENV FILE.tar.gz" >&2; exit 2; }
[ -e "$1/pyvenv.cfg" ] || { echo "$1 is not a virtual environment; make one with python -m venv" >&2; exit 2; }
tar --create --gzip --file "$2.new" --directory "$1" --exclude '__pycache__' --exclude './lib/*/site-packages/pyspark' .
mv "$2.new" "$2"
