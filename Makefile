# Recipes to run, check and package Retinue. They need Python 3.11 or newer, Node.js and make.
# Everything else is installed from the locks into .venv and web/node_modules.

MAKEFLAGS += --no-builtin-rules
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
DIR ?= $(CURDIR)/workspace
PORT ?=
WORKERS ?= 2
TESTS ?=

# Cached bytecode halves the start-up time; enable it even if the shell disables it.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv pip
PACKAGE := $(UV) install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
STATIC := src/retinue/server/static
WEB_SOURCES := $(shell find web -mindepth 1 \( -name node_modules -o -name dist \) -prune -o -print 2>/dev/null)
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

.PHONY: help
help: ## List the recipes
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

# ---------------------------------------------------------------- run

.PHONY: serve
serve: ## Start the server (DIR=folder, PORT=number)
	@$(MAKE) --no-print-directory -s -j2 runtime web
	@exec $(BIN)/retinue serve --dir '$(DIR)' $(if $(PORT),--port '$(PORT)')

.PHONY: bench
bench: $(VENV)/.compiled ## Measure throughput, latency, growth, memory (ARGS=...)
	@$(BIN)/python -m bench $(ARGS)

.PHONY: proof
proof: $(VENV)/.compiled ## Run the crash tests: kill the engine at every commit
	@$(BIN)/retinue verify $(ARGS)

.PHONY: mutants
mutants: dev ## Change the engine's policy in small ways and check that a test fails each time
	@$(BIN)/python -m tests.mutation $(ARGS)

# ---------------------------------------------------------------- check

.PHONY: test
test: system ## Run all checks and tests (TESTS=paths and options, WORKERS=2)
	@$(MAKE) --no-print-directory -s -j2 dev web
	@$(MAKE) --no-print-directory -s check
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile $(TESTS)

.PHONY: check
check: dev ## Check format, lint, types, layers and the web app
	@$(MAKE) --no-print-directory -s -j2 --keep-going --output-sync check-format check-lint check-types check-layers check-web

.PHONY: check-format check-lint check-types check-layers check-web
check-format: dev
	@$(BIN)/ruff format --check --quiet . || { echo 'Not formatted: run `make format`.'; exit 1; }
check-lint: dev
	@$(BIN)/ruff check --quiet .
check-types: dev
	@$(BIN)/basedpyright --level error
check-layers: dev
	@$(BIN)/lint-imports --no-logo 2>&1 | sed '/^$$/d'
check-web: $(if $(wildcard web/package.json),web/node_modules/.installed)
	@if [ -f web/package.json ]; then npm --prefix web run --silent --if-present check; fi

.PHONY: docs
docs: dev ## Build the documentation site in build/site/
	@$(BIN)/python -m manual build

.PHONY: format
format: dev ## Format the Python code and fix simple lint errors
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .

.PHONY: system
system: ## Install chromium and bubblewrap for the tests (Debian)
	@missing=; \
	command -v chromium >/dev/null || missing+=' chromium'; \
	command -v bwrap >/dev/null || missing+=' bubblewrap'; \
	[ -n "$$missing" ] || exit 0; \
	become=; \
	if [ "$$(id -u)" != 0 ]; then become='sudo -n'; fi; \
	if ! command -v apt-get >/dev/null || ! $$become true 2>/dev/null; then \
		echo "The tests need these programs. Install them first:$$missing" >&2; exit 1; \
	fi; \
	echo "Installing$$missing"; \
	log=$$(mktemp); \
	if ! { $$become apt-get update && $$become env DEBIAN_FRONTEND=noninteractive \
		apt-get install --yes --no-install-recommends $$missing; } >"$$log" 2>&1 </dev/null; then \
		cat "$$log" >&2; rm -f "$$log"; exit 1; \
	fi; \
	rm -f "$$log"

# ---------------------------------------------------------------- install

.PHONY: runtime dev
runtime: $(VENV)/.runtime
dev: $(VENV)/.dev

$(VENV)/.build: requirements-build.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Retinue needs Python 3.11 or newer: make PYTHON=...")'
	@echo 'Creating $(VENV)'
	@$(PYTHON) -m venv --without-pip $(VENV)
	@if $(PYTHON) -m pip --version >/dev/null 2>&1; then \
		pip='$(PYTHON) -m pip --python $(BIN)/python'; \
	else \
		$(BIN)/python -m ensurepip >/dev/null; pip='$(BIN)/python -m pip'; \
	fi; \
	$$pip -qq --disable-pip-version-check install --require-hashes --no-deps -r $<
	@touch $@

# Not compiled here, so the server starts sooner: Python caches the bytecode of what it imports.
$(VENV)/.runtime: requirements.lock pyproject.toml $(VENV)/.build
	@echo 'Installing $<'
	@$(UV) install --quiet --python $(BIN)/python --require-hashes -r $<
	@$(PACKAGE)
	@touch $@

$(VENV)/.compiled: $(VENV)/.runtime
	@echo 'Compiling'
	@$(BIN)/python -m compileall -q -j 2 $(VENV)/lib src || true
	@touch $@

# A sync removes everything that is not in the lock, including the package, which is then reinstalled.
$(VENV)/.dev: requirements-dev.lock pyproject.toml $(VENV)/.build
	@echo 'Installing $<'
	@$(UV) sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode $<
	@$(PACKAGE)
	@touch $(VENV)/.runtime $(VENV)/.compiled $@

.PHONY: web
web: $(if $(wildcard web/package.json),$(STATIC)/index.html) ## Build the web app if its sources changed

web/node_modules/.installed: web/package.json web/package-lock.json
	@echo 'Installing web/package-lock.json'
	@npm --prefix web ci --silent --no-audit --no-fund
	@touch $@

$(STATIC)/index.html: web/node_modules/.installed $(WEB_SOURCES)
	@echo 'Building the web app'
	@npm --prefix web run --silent build
	@touch $@

# ---------------------------------------------------------------- maintain

.PHONY: lock
lock: $(VENV)/.build ## Update the locks (UPGRADE=1 for newer versions)
	@$(COMPILE) pyproject.toml --all-extras --output-file requirements.lock
	@$(COMPILE) pyproject.toml --all-extras --group dev --constraints requirements.lock --output-file requirements-dev.lock
	@printf 'uv\nhatchling\n' | $(COMPILE) - --constraints requirements-dev.lock --output-file requirements-build.lock
	@if [ -f web/package.json ]; then \
		npm --prefix web install --package-lock-only --omit-lockfile-registry-resolved --silent --no-audit --no-fund; \
	fi

.PHONY: dist
dist: dev ## Build the wheel and the sdist in dist/
	@$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist

.PHONY: clean
clean: ## Remove installed and built files; data stays
	@rm -rf $(VENV) build dist mutants web/node_modules web/dist $(STATIC) .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests bench examples manual -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
