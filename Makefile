# Job Engine: `make` lists what there is.

PYTHON ?= python3
PYTEST_ARGS ?=
TESTS ?= job_engine/tests
PARALLEL ?= -n 3 --dist loadscope # most of them wait for other processes most of the time

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
SOURCES := job_engine benchmarks examples
SITE_TESTS := job_engine/tests/site

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-engine test-site test-unit lint format check benchmark benchmark-site services services-stop services-status \
	site site-stop site-restart site-status site-logs screenshots clean

help: ## List the targets
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo 'Variables:'
	@echo '  PYTHON=python3.12      the interpreter for a new $(VENV) (now: $(PYTHON))'
	@echo '  PYTEST_ARGS="-k lease" further arguments for pytest'
	@echo '  TESTS=path             run only this folder, file or test (with make test)'
	@echo '  PARALLEL=              run the tests of the engine one after another'
	@echo '  JOB_ENGINE_SITE_DB=postgresql  make the site on PostgreSQL (now: $(or $(JOB_ENGINE_SITE_DB),mariadb))'

demo: $(VENV)/.base ## See it work: a few hundred jobs, failures, a killed worker; SQLite, under a minute
	@$(BIN)/job-engine demo

test: ## Run every test this machine can run: on SQLite, PostgreSQL, MariaDB, and on a real Frappe site
ifneq ($(filter $(SITE_TESTS)%,$(TESTS)),)
	@scripts/test-site $(TESTS) $(PYTEST_ARGS)
else ifneq ($(TESTS),job_engine/tests)
	@$(MAKE) --no-print-directory test-engine
else
	@failed=0; for part in test-engine test-site; do $(MAKE) --no-print-directory $$part || failed=1; done; exit $$failed
endif

test-engine: $(VENV)/.test ## Those that need no Frappe
	@scripts/services start || true
	@eval "$$(scripts/services env || true)"; \
	if [ "$${CI:-}" = true ] && scripts/services can-install; then export JOB_ENGINE_REQUIRE_SERVICES=1; fi; \
	$(BIN)/python -m pytest $(PARALLEL) $(TESTS) $(PYTEST_ARGS)

test-site: ## Those that need a Frappe site, which is made first if it is not there
	@PYTHON="$(PYTHON)" scripts/test-site $(SITE_TESTS) $(PYTEST_ARGS)

test-unit: $(VENV)/.test ## Run the tests that need no server: seconds
	@$(BIN)/python -m pytest job_engine/tests/unit $(PYTEST_ARGS)

lint: $(VENV)/.lint ## Check style (ruff) and types (mypy)
	@$(BIN)/ruff check $(wildcard $(SOURCES))
	@$(BIN)/ruff format --check $(wildcard $(SOURCES))
	@$(BIN)/mypy

format: $(VENV)/.lint ## Format the code, and fix what ruff can fix
	@$(BIN)/ruff check --fix-only --quiet $(wildcard $(SOURCES))
	@$(BIN)/ruff format $(wildcard $(SOURCES))

check: lint test ## Everything that must pass before a commit

benchmark: $(VENV)/.benchmark ## Measure against other job systems, in ratios
	@scripts/services start
	@eval "$$(scripts/services env)"; $(BIN)/python -m benchmarks

benchmark-site: ## Measure against plain frappe.enqueue on a bench, in ratios
	@PYTHON="$(PYTHON)" scripts/site up
	@eval "$$(scripts/site env)"; unset PYTHONDONTWRITEBYTECODE; \
	"$$JOB_ENGINE_SITE_BENCH/env/bin/python" -m benchmarks.site $(BENCHMARK_ARGS)

services: ## Start PostgreSQL, MariaDB and Redis for tests, on ports of their own
	@scripts/services start

services-stop: ## Stop them
	@scripts/services stop

services-status: ## Show what runs and where
	@scripts/services status || true

site: ## A running Frappe site with this app: minutes the first time, then seconds
	@PYTHON="$(PYTHON)" scripts/site up

site-stop: ## Stop it; its data stay
	@scripts/site stop

site-restart: ## Restart web, scheduler and workers, so that they run the code as it is now
	@scripts/site restart

site-status: ## Show what runs and where
	@scripts/site status

site-logs: ## Show the last lines of its logs
	@scripts/site logs

screenshots: ## Take the pictures of README and docs again, from a seeded site of their own, with Chromium
	@PYTHON="$(PYTHON)" scripts/screenshots $(PICTURES)

clean: ## Stop the services and remove everything that make has made
	@scripts/services stop
	@rm -rf $(VENV) .services build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment -----------------------------------------------------------------------------------------------------
# One stamp for each set of packages, so that the demo does not wait for what only the tests need.

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found. Try: make PYTHON=python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Job Engine needs Python 3.10 or newer; $(PYTHON) is not. Try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	@echo "Installing Job Engine into $(VENV)"
	@$(PIP) install -e .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.benchmark: $(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing Job Engine and what '$*' needs into $(VENV)"
	@$(PIP) install -e '.[$*]'
	@touch $@
