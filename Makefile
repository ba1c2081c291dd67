# Everything a newcomer needs: `make demo`, `make test`. `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
JOBS   ?= 2
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-spark test test-quick test-clients client-matrix test-dbt test-dbt-next test-spark test-sqlglotc \
  soak lint format clean bench bench-cost bench-load bench-query bench-merge bench-sql bench-spark bench-flight \
  bench-dbt

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## create .venv with everything, at the versions of constraints.txt

$(STAMP): constraints.txt requirements-dev.txt pyproject.toml engine/pyproject.toml \
  sql_bridge/pyproject.toml flight_server/pyproject.toml spark_pipeline/pyproject.toml \
  dbt-omnigraph/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "OmniGraph needs Python 3.11 or newer; found $$($(PYTHON) --version)."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy python3-venv; \
	     else echo "Install the package python3-venv, then try again."; exit 1; fi
	@command -v java >/dev/null \
	  || if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy openjdk-17-jre-headless; \
	     else echo "Spark needs Java 17: install openjdk-17-jre-headless, then try again."; exit 1; fi
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints.txt -r requirements-dev.txt \
	  -e engine -e sql_bridge -e flight_server -e spark_pipeline -e dbt-omnigraph
	@touch $(STAMP)

demo: $(STAMP) ## a graph loaded, branched, asked, merged and served; one built by dbt, read by Spark
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/people/run.sh
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/dbt/run.sh

demo-spark: $(STAMP) ## raw events, cleaned by Spark, to a graph, to dbt models, to answers
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/shop/run.sh

test: $(STAMP) lint ## lint, then every test
	$(PYTEST) -n $(JOBS) --dist loadgroup -m "not soak and not cluster and not dbt"

test-spark: $(STAMP) ## all tests of Spark, with clusters whose executors and drivers are killed
	$(PYTEST) tests/spark tests/engine/test_bulk_jobs.py

test-dbt: $(STAMP) ## dbt's own suite for adapters, in direct mode and in branch mode
	$(PYTEST) -n $(JOBS) --dist loadscope tests/dbt/suite --dbt-publish direct
	$(PYTEST) -n $(JOBS) --dist loadscope tests/dbt/suite --dbt-publish on_success
	$(PYTEST) -n $(JOBS) --dist loadgroup tests/dbt --ignore tests/dbt/suite -m "not soak"

SQLGLOTC := build/sqlglotc
test-sqlglotc: $(STAMP) ## the tests of SQL with the compiled build of sqlglot (downloads it)
	mkdir -p $(SQLGLOTC)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(SQLGLOTC) --upgrade \
	  -c constraints.txt 'sqlglot[c]'
	PYTHONPATH=$(SQLGLOTC) $(PYTEST) -n $(JOBS) --dist loadgroup tests/sql

DBT_NEXT := build/dbt-next
test-dbt-next: $(STAMP) ## a smoke run on the next minor version of dbt (installs it)
	test -d $(DBT_NEXT) || $(PYTHON) -m venv $(DBT_NEXT)
	$(DBT_NEXT)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps 'dbt-core>=1.12,<1.13'
	@# dbt names a package that it never imports and that does not build everywhere.
	$(DBT_NEXT)/bin/python -c "from importlib.metadata import requires; print('\n'.join( \
	  need for need in requires('dbt-core') if 'experimental-parser' not in need))" \
	  > $(DBT_NEXT)/requirements.txt
	grep -v '^dbt-' constraints.txt > $(DBT_NEXT)/constraints.txt
	$(DBT_NEXT)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c $(DBT_NEXT)/constraints.txt -r $(DBT_NEXT)/requirements.txt \
	  -e engine -e sql_bridge -e flight_server -e dbt-omnigraph
	OMNIGRAPH_DBT_NEXT=$(CURDIR)/$(DBT_NEXT)/bin/python $(PYTEST) tests/dbt/test_next_dbt.py

test-quick: $(STAMP) ## only the quick tests
	$(PYTEST) -n $(JOBS) -m "not slow and not soak and not cluster and not dbt" -q

CLIENTS := build/clients
RUN_CLIENTS := OMNIGRAPH_CLIENTS=$(CURDIR)/$(CLIENTS) $(PYTEST) -m clients tests/flight/other_clients
test-clients: $(CLIENTS)/.ready ## the Flight SQL server with clients of other makers (installs them)
	$(RUN_CLIENTS)

client-matrix: $(CLIENTS)/.ready ## the same, and write what was seen into docs/flight.md
	OMNIGRAPH_WRITE_MATRIX=1 $(RUN_CLIENTS)

# Java's client comes with a server on PyPI, whose jars are taken out of its wheel.
JAVA_CLIENT := deephaven-server==42.7
CLIENT_SOURCES := $(addprefix tests/flight/other_clients/, \
  requirements.txt requirements-sqlalchemy2.txt package.json)
$(CLIENTS)/.ready: $(STAMP) $(CLIENT_SOURCES)
	@{ command -v node && command -v npm; } >/dev/null \
	  || if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy nodejs npm; \
	     else echo "Clients in JavaScript need Node.js: install nodejs and npm, then try again."; exit 1; fi
	mkdir -p $(CLIENTS)/java
	test -d $(CLIENTS)/python || $(PYTHON) -m venv $(CLIENTS)/python
	$(CLIENTS)/python/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tests/flight/other_clients/requirements.txt
	test -d $(CLIENTS)/python-sqlalchemy2 || $(PYTHON) -m venv $(CLIENTS)/python-sqlalchemy2
	$(CLIENTS)/python-sqlalchemy2/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r tests/flight/other_clients/requirements-sqlalchemy2.txt
	$(CLIENTS)/python/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
	  -d $(CLIENTS) $(JAVA_CLIENT)
	$(PYTHON) -m zipfile -e $(CLIENTS)/deephaven_server-*.whl $(CLIENTS)/java
	rm $(CLIENTS)/deephaven_server-*.whl
	cp tests/flight/other_clients/package.json $(CLIENTS)/ && cd $(CLIENTS) && npm install --no-audit
	@touch $@

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## let ruff write the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-cost bench-load bench-query bench-merge bench-sql bench-spark bench-flight \
  bench-dbt ## all benchmarks

bench-cost: $(STAMP) $(VENV)/.bench ## operations of a small write by history depth, beside peers
	$(BIN)/python -m benchmarks.cost

bench-load: $(STAMP) $(VENV)/.bench ## rows per second of bulk loads, beside peers
	$(BIN)/python -m benchmarks.load

bench-query: $(STAMP) $(VENV)/.bench ## milliseconds of queries, beside graph and SQL engines
	$(BIN)/python -m benchmarks.query

bench-merge: $(STAMP) $(VENV)/.bench ## milliseconds of merges, beside joins and rewriting
	$(BIN)/python -m benchmarks.merge

bench-sql: $(STAMP) $(VENV)/.bench ## milliseconds of TPC-H's questions, beside DataFusion and duckdb
	$(BIN)/python -m benchmarks.sql

bench-spark: $(STAMP) ## rows per second from and to Spark, beside Parquet
	$(BIN)/python -m benchmarks.spark

bench-flight: $(STAMP) $(VENV)/.bench ## queries per second over Flight SQL, beside other servers
	$(BIN)/python -m benchmarks.flight

bench-dbt: $(STAMP) $(VENV)/.bench ## seconds of a dbt run of 50 models, beside dbt-duckdb
	$(BIN)/python -m benchmarks.dbt_runs

$(VENV)/.bench: $(STAMP) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  -c constraints.txt -r requirements-bench.txt
	@touch $@

soak: $(STAMP) ## the model check and the fault tests, for long
	OMNIGRAPH_PROFILE=soak $(PYTEST) -m "soak or slow" -n $(JOBS)

clean: ## remove what the targets made
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
