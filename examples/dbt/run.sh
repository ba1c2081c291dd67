#!/bin/sh
# Build a graph with dbt, on a branch published in one commit, then read it with Spark over Flight SQL.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OMNIGRAPH_STORE="$work/graph.omni"
OMNIGRAPH_PATH="$OMNIGRAPH_STORE"
export OMNIGRAPH_STORE OMNIGRAPH_PATH

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

cp -R "$here" "$work/project"
cd "$work/project"
say dbt build --profiles-dir .
say omnigraph commit list
say omnigraph sql "SELECT company, people FROM analytics.company_sizes ORDER BY people DESC"
say env SPARK_LOCAL_IP=127.0.0.1 python over_spark.py "$OMNIGRAPH_STORE"
say omnigraph verify
