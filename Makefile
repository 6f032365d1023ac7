# Every target makes what it needs first, so each works on a fresh machine with Python 3.11 or newer and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo test lint types check bench bench-peers diagram fuzz clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F '\t' '{printf "  make %-8s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]'
	@touch $@

$(VENV)/dev-ready: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/demo-ready ## play real streams as they would arrive, whole and cut (no key, no network)
	@$(BIN)/streamacc demo

test: $(VENV)/dev-ready ## run the tests, in random order
	$(BIN)/python -m pytest

lint: $(VENV)/dev-ready ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev-ready ## check the types, strictly
	$(BIN)/mypy

check: lint types test ## everything that continuous integration checks

bench: $(VENV)/dev-ready ## measure against the floor, as ratios
	$(BIN)/python -m benchmarks --write

bench-peers: ## the same of other libraries, in an environment of their own
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable . httpx2 jiter matplotlib \
		openai anthropic llmstream pydantic-ai-slim langchain-openai litellm openai-agents
	.venv-peers/bin/python -m benchmarks --peers --write

diagram: $(VENV)/dev-ready ## write the diagram of a run into docs/runtime.md, from its table
	$(BIN)/python docs/diagram.py

fuzz: $(VENV)/dev-ready ## feed mutated streams to every promise, for SECONDS (60)
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),60) --seed $(or $(SEED),0)

clean: ## remove the virtual environment and all caches
	rm -rf .venv* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
