# Every command sets up what it needs in .venv with plain pip; the second time that takes no time.
# Another interpreter: make test PYTHON=python3.12
# Extras of pyproject.toml: make setup EXTRA=rl, make setup EXTRA="rl fem"

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq

.DEFAULT_GOAL := help
.PHONY: help setup run check test tutorials lint format bench fuzz gallery docs docs-check clean

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(if $(EXTRA),$(EXTRA:%=$(VENV)/.extra-%),$(VENV)/.dev)  ## Install the package with all development tools, or with an extra: EXTRA=rl
	@echo "Ready: $(BIN)/annelid"

run: $(VENV)/.run  ## Simulate the worm; results go to out/worm/
	$(BIN)/annelid run worm

# Processes that tests start would compile the package again where the environment forbids to keep bytecode. Assertions
# that tell their values take each process some seconds to prepare: they come for what has failed. A third
# process computes on two cores while others wait for a browser; a fourth one takes longer than it saves.
check test: export PYTHONDONTWRITEBYTECODE :=
check: $(VENV)/.dev  ## Run the strongest three hundred tests, those of tests/check.txt, in three minutes
	@echo "The strongest three hundred tests, those of tests/check.txt; make test runs all."
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --assert=plain @tests/check.txt

test: $(VENV)/.dev  ## Run all tests, three files at a time
	@echo "All tests, three files at a time; make check runs the strongest three hundred."
	@$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 1 --assert=plain || { \
	  echo "Tests that failed, once more with the values that they compare:"; \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

tutorials: $(VENV)/.dev  ## Run the tutorials of the documentation, as the test suite does too
	$(BIN)/python -m pytest tests/test_tutorials.py

lint: $(VENV)/.dev  ## Check style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.dev  ## Mend style and formatting
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.run  ## Measure the throughput of the spring solver
	$(BIN)/annelid bench springs

fuzz: $(VENV)/.dev  ## Hand 100 000 damaged files to everything that reads files
	$(BIN)/python tests/fuzz/fuzz.py

gallery: $(VENV)/.dev  ## Make pictures and recordings of all scenes, environments, studies and robots in out/gallery/, or of one: ENTRY=scene/worm
	$(BIN)/annelid gallery $(ENTRY)

docs: $(VENV)/.dev  ## Build the documentation in docs/_build/html/
	@rm -rf docs/api/_generated  # pages of modules that are gone
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html docs docs/_build/html
	@test -e out/gallery/index.html || echo "Its gallery has no pictures yet: make gallery, then make docs."
	@echo "Open docs/_build/html/index.html"

docs-check: docs  ## Walk all pages of the documentation in a browser: links, pictures, errors
	$(BIN)/python docs/_extensions/walk.py docs/_build/html

clean:  ## Remove the environment and everything that was built; out/ stays
	rm -rf $(VENV) build dist docs/_build docs/api/_generated .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are written last, so that an interrupted set-up is taken up again.
$(VENV)/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Annelid needs Python 3.11 or later, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	       "name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.venv pyproject.toml
	@echo "Installing Annelid and what it needs to run (takes a minute or two) ..."
	@$(PIP) --editable '.[view]'
	@touch $@

$(VENV)/.extra-%: $(VENV)/.venv pyproject.toml
	@echo "Installing Annelid and its extra '$*' (takes a minute or two) ..."
	@$(PIP:-qq=-q) --editable '.[$*]'

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	@echo "Installing Annelid and the development tools (takes a minute or two) ..."
	@$(PIP) --no-compile --editable '.[dev]'  # most of what the tools bring is never imported
	@touch $(VENV)/.run $@
