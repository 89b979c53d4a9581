# Commands for developers. Needs GNU make and Python 3.11 to 3.14 with venv; everything else is installed into .venv.

PYTHON ?= python3
ARGS ?=
SECONDS ?= 60
WORKERS ?= 2
EXTRAS ?= postgres,kafka,s3,connectors,web,oidc,otel
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
GENERATE := $(BIN)/python callboard/messages/proto/generate.py
# One process tests a file, in the order of tests/conftest.py. ARGS=-n0 starts no other processes, for --pdb.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
SERVERS := kafka or postgres or s3 or spark or browser or prometheus
# Finds most mistakes in a minute: the tests without waits and other processes.
QUICK := tests/golden tests/scenarios $(filter-out %.py %/__pycache__ %/board %/cli %/documents,$(wildcard tests/unit/*))

unexport PYTHONDONTWRITEBYTECODE # the tests start thousands of processes, each of which would compile all of callboard

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # every target uses the one .venv, and the tools use both cores by themselves
.SUFFIXES:
.PHONY: help demo pipeline-demo topology-demo jobs-demo console-demo relay-demo bank-demo check test test-slow test-servers nightly behaviours endurance chaos kill-points soak conformance planted-bugs sim sim-planted fuzz api-fuzz api-schema lint bench bench-fleet bench-peers bench-spark plots figures docs gen check-gen dist sbom clean

help: ## List the targets; ARGS="..." is passed to the command behind a target.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.ready-demo ## Show a publisher and six subscribers at work while actors are killed; two minutes.
	@$(BIN)/callboard demo $(ARGS)

pipeline-demo: $(VENV)/.ready-spark ## Archive a log, trim it, lose it, restore it, compare every byte and audit it; needs Java.
	@$(BIN)/callboard pipeline demo $(ARGS)

topology-demo: $(VENV)/.ready-test ## Kill the leader of five services twice, drain the third, and check what the leaders counted; half a minute.
	@$(BIN)/callboard topology demo $(ARGS)

jobs-demo: $(VENV)/.ready-test ## Take the digests of a tree by four workers, three of which are killed; half a minute.
	@$(BIN)/callboard jobs demo $(ARGS)

console-demo: $(VENV)/.ready-test ## Play the demo with the console open on it; ARGS=--once looks at every page in Chromium, and ends.
	@$(BIN)/python -m tests.browser.demo $(ARGS)

relay-demo: $(VENV)/.ready-test ## Relay a tree to three sites of ten subscribers while relays and the server are killed; a minute.
	@$(BIN)/callboard relay demo $(ARGS)

bank-demo: $(VENV)/.ready-demo ## Move money by three services that are killed, and compare the sums; half a minute.
	@$(BIN)/python examples/bank/transfers.py $(ARGS)

check: lint ## Run make lint and the quick tests: a minute on 2 idle cores.
	@$(PYTEST) -m "not ($(SERVERS))" $(QUICK) $(ARGS)

test: $(VENV)/.ready-test ## Run all tests that need only Python, for example: make test ARGS="-k queue".
	@$(PYTEST) -m "not ($(SERVERS))" $(ARGS)

test-slow: $(VENV)/.ready-test ## Run the tests of make test that are not in make check.
	@$(PYTEST) -m "not ($(SERVERS))" $(addprefix --ignore=,$(QUICK)) $(ARGS)

test-servers: $(VENV)/.ready-spark ## Run the tests with real Kafka, PostgreSQL, S3 and Prometheus servers, Spark, and Chromium; needs Java and Maven.
	@-$(BIN)/python deploy/kafka/broker.py fetch # once, for all; if that fails, the tests say so
	@-deploy/test_tools.sh # likewise
	@$(PYTEST) -m "$(SERVERS)" $(ARGS)

nightly: $(VENV)/.ready-spark $(VENV)/.ready-fuzz ## Run every test and search with larger numbers, for hours.
	@-$(BIN)/python deploy/kafka/broker.py fetch
	@-deploy/test_tools.sh
	@CALLBOARD_LONG=1 CALLBOARD_SEEDS=0:$(or $(SEEDS),500) $(PYTEST) --timeout 7200
	@$(MAKE) sim-planted planted-bugs kill-points chaos soak
	@$(MAKE) sim SEEDS=$(or $(SEEDS),5000)
	@$(MAKE) fuzz SECONDS=$(or $(FUZZ_SECONDS),600)

conformance: $(VENV)/.ready-test ## Show every check on every log, blob store, repository and store for folds; needs Java and Maven.
	@$(BIN)/python -m callboard.testing.conformance $(ARGS)

planted-bugs: $(VENV)/.ready-test ## Show that the conformance suites find every bug planted in a backend.
	@$(BIN)/python -m callboard.testing.conformance planted $(ARGS)

behaviours: $(VENV)/.ready-test ## Run the tests that prove a behaviour, and write docs/behaviours.md from the results.
	@$(PYTEST) -m "proves and not (kafka or postgres or s3)" --behaviours $(ARGS)

fuzz: $(VENV)/.ready-fuzz ## Misuse the API, append hostile records to running boards, feed random bytes to every reader: make fuzz CALLS=1000 RECORDS=1000 SECONDS=600.
	@$(BIN)/python tests/fuzz/calls.py $(or $(CALLS),100000)
	@for on in "--on sqlite" "--on sqlite --keys" "--on postgres" "--on postgres --keys"; do \
	  $(BIN)/python tests/fuzz/records.py $(or $(RECORDS),26000) $$on || exit 1; \
	done
	@$(BIN)/python tests/fuzz/fuzz.py $(SECONDS) $(ARGS)

api-fuzz: $(VENV)/.ready-test ## Have schemathesis compare the HTTP API with its document: make api-fuzz EXAMPLES=100 SEED=7.
	@CALLBOARD_API_EXAMPLES=$(or $(EXAMPLES),100) CALLBOARD_API_SEED=$(or $(SEED),1) CALLBOARD_LONG=1 \
	  $(BIN)/python -m pytest tests/web/api/test_schemathesis.py $(ARGS)

api-schema: $(VENV)/.ready-test ## Write the OpenAPI document of the HTTP API to docs/schema.
	@$(BIN)/python -c 'from callboard.web.api.openapi import document; print(document(), end="")' > docs/schema/api-v1.json

endurance: $(VENV)/.ready-test ## Have ten processes append for a minute each on PostgreSQL and Kafka, and check the result.
	@CALLBOARD_LONG=1 $(BIN)/python -m pytest -s tests/conformance/postgres/test_append_order.py \
	  tests/conformance/kafka/test_ten_writers.py tests/chaos/repositories/test_repository_*.py $(ARGS)

chaos: $(VENV)/.ready-test ## Strike a fleet on SQLite, PostgreSQL and Kafka for a minute each; ARGS="--subscribers 20 --minutes 2".
	@for log in $(or $(ON),sqlite postgres kafka); do $(BIN)/callboard chaos --on $$log $(ARGS) || exit 1; done

sim: $(VENV)/.ready-test ## Simulate fleets, clusters, workers and relays with faults at every effect, on all cores: make sim SEEDS=2000.
	@$(BIN)/callboard simulate --again tests/simulation/seeds.txt --keep --seeds $(or $(SEEDS),200) $(ARGS)
	@$(BIN)/callboard simulate --clusters --again tests/simulation/topology/seeds.txt --keep --seeds $(or $(SEEDS),200) $(ARGS)
	@$(BIN)/callboard simulate --jobs --again tests/simulation/jobs/seeds.txt --keep --seeds $(or $(SEEDS),200) $(ARGS)
	@$(BIN)/callboard simulate --relays --again tests/simulation/relays/seeds.txt --keep --seeds $(or $(SEEDS),200) $(ARGS)

sim-planted: $(VENV)/.ready-test ## Show after how many seeds the simulator finds each planted bug.
	@$(BIN)/callboard simulate --planted $(ARGS)
	@$(BIN)/callboard simulate --planted --clusters $(ARGS)
	@$(BIN)/callboard simulate --planted --jobs $(ARGS)
	@$(BIN)/callboard simulate --planted --relays $(ARGS)

kill-points: $(VENV)/.ready-test ## Kill importers and a SQLite log at every system call that writes, or fail the call; needs strace.
	@$(BIN)/python -m tests.chaos.repositories.kill_points $(ARGS)

soak: $(VENV)/.ready-test ## Check that memory, descriptors and threads do not grow: make soak MINUTES=10.
	@$(BIN)/python -m tests.chaos.soak --minutes $(or $(MINUTES),10)

lint: $(VENV)/.ready-lint ## Check style, types, layers and generated code.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet callboard
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(GENERATE) --check

bench: $(VENV)/.ready-test ## Run the benchmarks, half an hour to an hour on 2 idle cores, or less with ARGS=--quick.
	@set -e; for file in $$(grep -l '__main__' benchmarks/*.py | grep -v 'plot.py\|peers.py\|fleet_size\|spark_'); do \
	  echo "== $$file"; $(BIN)/python "$$file" $(ARGS); \
	done

bench-fleet: $(VENV)/.ready-test ## Measure fleets of up to a thousand subscribers, and ten thousand simulated, an hour on 2 idle cores, or less with ARGS=--quick.
	@$(BIN)/python benchmarks/fleet_size.py $(ARGS)

bench-peers: $(VENV)/.ready-test ## Measure callboard beside rsync, git, Syncthing and a bucket, an hour and 45 GB of disk; ARGS=--quick for less.
	@$(BIN)/python benchmarks/peers.py $(ARGS)

bench-spark: $(VENV)/.ready-spark ## Run the benchmarks of the pipeline; needs Java, and Maven for Spark's JDBC reader.
	@set -e; jar=$$HOME/.m2/repository/org/postgresql/postgresql/42.7.13/postgresql-42.7.13.jar; \
	[ -e "$$jar" ] || mvn -q dependency:get -Dartifact=org.postgresql:postgresql:42.7.13 || true; \
	if [ -e "$$jar" ]; then jdbc="--jar $$jar"; else jdbc=; echo "continuing without Spark's JDBC reader: no $$jar"; fi; \
	for words in "source $$jdbc" queues archive collect; do \
	  set -- $$words; script=benchmarks/spark_$$1.py; shift; \
	  echo "== $$script"; $(BIN)/python "$$script" "$$@" $(ARGS); \
	done

plots: $(VENV)/.ready-bench ## Draw the curves of the last benchmarks into docs/figures.
	@$(BIN)/python benchmarks/plot.py

figures: $(VENV)/.ready-test ## Draw the console's pages for the documentation, into docs/figures; needs Chromium.
	@CALLBOARD_FIGURES=1 $(BIN)/python -m pytest -q tests/browser/test_pages.py tests/browser/test_everything.py -k "runs_on or light"

docs: $(VENV)/.ready-test ## Build the documentation as a site, into build/docs.
	@$(BIN)/python docs/build.py
	@echo "build/docs/index.html"

gen: $(VENV)/.ready-test ## Generate callboard/messages/_pb from the .proto files.
	@$(GENERATE)

check-gen: $(VENV)/.ready-test ## Fail if callboard/messages/_pb differs from the .proto files.
	@$(GENERATE) --check

dist: $(VENV)/.ready-test ## Make the sdist and the wheel in dist/, and check what an index would show of them.
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build --quiet --no-isolation .
	@$(BIN)/python -m twine check --strict dist/*

sbom: dist ## List what the wheel runs with, as CycloneDX in dist/: make sbom EXTRAS=postgres,web.
	@rm -rf build/sbom && $(BIN)/python -m venv --without-pip build/sbom
	@$(PIP) --python build/sbom/bin/python install "$$(ls dist/*.whl)[$(EXTRAS)]"
	@version=$$(build/sbom/bin/callboard --version | cut -d ' ' -f 2); \
	sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml >build/sbom/pyproject.toml; \
	$(BIN)/python -m cyclonedx_py environment --pyproject build/sbom/pyproject.toml --output-reproducible \
	  -o "dist/callboard-$$version.cdx.json" build/sbom/bin/python
	@ls dist

clean: ## Remove .venv, caches and everything else that can be rebuilt.
	@rm -rf $(VENV) build dist pipeline-demo *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Each step adds to the one before, and runs again when pyproject.toml changes.

$(VENV)/.ready-spark: $(VENV)/.ready-test
	@echo "installing Spark"
	@$(PIP) install --group spark-test
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready-test
	@echo "installing the tools of make lint"
	@$(PIP) install --group lint
	@touch $@

$(VENV)/.ready-fuzz: $(VENV)/.ready-test
	@echo "installing the tools of make fuzz"
	@$(PIP) install --group fuzz
	@touch $@

$(VENV)/.ready-bench: $(VENV)/.ready-test
	@echo "installing the tools of make plots"
	@$(PIP) install --group bench
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready-demo
	@echo "installing the tools of make test"
	@$(PIP) install --group test --group gen
	@touch $@

# setuptools warns of every editable install, hence PYTHONWARNINGS.
$(VENV)/.ready-demo: $(VENV)/.ready pyproject.toml
	@echo "installing callboard into $(VENV)"
	@PYTHONWARNINGS=ignore $(PIP) install --editable .
	@touch $@

# Older pips do not know dependency groups.
$(VENV)/.ready: $(BIN)/python
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

# Run the interpreter to test it: a name on the PATH may be an empty shim. Rebuilt if its link is broken.
$(BIN)/python:
	@for python in "$(PYTHON)" python3.13 python3.12 python3.11 python3.14; do \
	  "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && break; \
	  python=; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "callboard needs Python 3.11 to 3.14, and $(PYTHON) --version says:" >&2; \
	  "$(PYTHON)" --version >&2 || true; \
	  echo "install one of these, or name it: make PYTHON=/path/to/python3.13 ..." >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python has no venv module; install it (Debian, Ubuntu: apt install python3-venv), then try again" >&2; \
	  exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV)
