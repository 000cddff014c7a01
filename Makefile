# headwater's front door. `make` alone lists what there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# The page is plain JavaScript; TypeScript only checks the types in its comments.
TYPESCRIPT := 5.9.3
TSC := $(VENV)/typescript-$(TYPESCRIPT)/node_modules/.bin/tsc

# Processes of `make test`; each starts servers of its own (about 4 GB).
WORKERS ?= 2

BENCHES := $(addprefix bench-,ingest growth backfill freshness questions emit fields spark page)

.DEFAULT_GOAL := help
.PHONY: help setup demo test check check-page format lock jars chaos test-airflow test-dbt test-spark-reference test-pyspark test-neo4j bench $(BENCHES) clean

help: ## list these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-22s %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## make .venv with every dependency at its locked version

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "headwater needs Python 3.11 or newer: make PYTHON=python3.11 setup"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "this Python has no venv: install it (on Debian: apt install python3-venv)"; exit 2; }
	@echo "installing the locked dependencies into $(VENV): about 700 MB, PySpark takes a minute ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(VENV)/.ready ## real Kafka, Spark and Neo4j, real jobs, and the lineage that comes of them
	@$(BIN)/headwater demo

test: $(VENV)/.ready check ## all tests, with the end-to-end ones on real servers, in two processes (WORKERS=2)
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.ready ## style, types and layers; the types of the page where node is
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory check-page

check-page: ## the types of the page; does nothing without node and npm
	@if command -v node > /dev/null && command -v npm > /dev/null; then $(MAKE) --silent $(TSC) && $(TSC) --project jsconfig.json; \
	else echo "no node or npm: the types of the page are not checked"; fi

$(TSC):
	@npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(VENV)/typescript-$(TYPESCRIPT) typescript@$(TYPESCRIPT)

format: $(VENV)/.ready ## put the code in its form
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

lock: $(VENV)/.ready ## resolve requirements.lock anew: names, versions and hashes, no addresses
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	  --no-header --all-extras --group dev pyproject.toml -o requirements.lock > /dev/null

jars: $(VENV)/.ready ## resolve the stack's jar lock anew
	@$(BIN)/python -m headwater_stack.resolve

chaos: $(VENV)/.ready ## the long ring: faults and sizes that take minutes; SEEDS=10: schedules of faults; SEED=7: one of them again
ifneq ($(SEED)$(SEEDS),)
	@$(BIN)/python -m tests.chaos.ring $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))
else
	@$(BIN)/python -m pytest -m chaos --timeout 3600
endif

test-airflow: $(VENV)/.ready ## the emitter inside real Airflow 2 and 3, each in an environment of its own
	@HEADWATER_TEST_AIRFLOW=1 $(BIN)/python -m pytest tests/airflow

test-dbt: $(VENV)/.ready ## the emitter inside real dbt
	@HEADWATER_TEST_DBT=1 $(BIN)/python -m pytest tests/dbt

test-spark-reference: $(VENV)/.ready ## every reference job of the Spark emitter, where the example data are, and its programs on Delta and Iceberg
	@HEADWATER_SPARK_REFERENCE=all $(BIN)/python -m pytest tests/spark/test_reference.py tests/spark/test_programs.py --timeout 3600

test-pyspark: $(VENV)/.ready ## the Spark emitter inside another PySpark: make test-pyspark VERSION=3.5, or VERSION=client
	@$(BIN)/python -m tests.spark.versions $(VERSION)

test-neo4j: $(VENV)/.ready ## the graph on another Neo4j: make test-neo4j VERSION=5.26.25
	@$(BIN)/python -m tests.store.versions $(VERSION)

bench: $(BENCHES) ## every benchmark, or one: bench-ingest, -growth, -backfill, -freshness, -questions, -emit, -fields, -spark, -page

$(BENCHES): bench-%: $(VENV)/.ready
	@$(BIN)/python bench/$*.py

clean: ## remove what was made here (the local stack stays: headwater down --home ...)
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
