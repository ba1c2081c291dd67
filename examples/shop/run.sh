#!/bin/sh
# Raw data, made here, to answers: generate, clean with Spark, model with dbt, ask.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OMNIGRAPH_STORE="$work/shop.omni"
export OMNIGRAPH_STORE

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

say python3 "$here/generate.py" "$work/raw" "${EVENTS:-5000}"
cp -r "$here/shop.yaml" "$here/dbt" "$work"
say omnigraph init "$here/schema.pg" "$OMNIGRAPH_STORE"
say omnigraph pipeline run "$work/shop.yaml" --master "local[2]" \
  --conf spark.sql.shuffle.partitions=2
say dbt build --project-dir "$work/dbt" --profiles-dir "$work/dbt"
say omnigraph query best --file "$here/shop.gq"
say omnigraph query also --file "$here/shop.gq" --params '{"sku": "sku-001"}'
say omnigraph query segments --file "$here/shop.gq"
say omnigraph query golden --file "$here/shop.gq"
say omnigraph sql "SELECT sku, customers, income FROM analytics.product_sales ORDER BY income DESC LIMIT 3"
say omnigraph commit list
say omnigraph verify
