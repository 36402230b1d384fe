# Everything installs what it needs first, and is quick when nothing is missing. `make` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# More workers than processors: tests wait for programs and servers during two fifths of their time (15.5 CPU minutes took
# 13.4 by the clock with two workers on two). A worker that dies ends the run: with loadfile, its other files would be
# waited for without end.
PYTEST_ARGUMENTS ?= -n $$(($$(nproc) * 3 / 2)) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# What `make demo` shows: a small model on this machine next to the baselines, on problems that it can solve: the Python
# problems of C3-Bench's starter set whose answer is a part of one line. Its answers are cut at the end of the line.
DEMO_RUN ?= runs/demo
DEMO_MODEL ?= smollm2
DEMO_COMMAND ?= $(BIN)/caretbench run c3bench -m gguf/$(DEMO_MODEL) --temperature 0 --max-tokens 32 --policy first_line \
	--select task=scc,category=span,language=python --output $(DEMO_RUN)

TRAIN_READY := .venv-train/.ready

.PHONY: help setup train-env demo test test-train test-most test-long quick lint types site packages changelog check bundles clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(READY) ## install uv, the locked Python packages and the sandbox, where they are missing

$(READY): pyproject.toml uv.lock scripts/setup.sh
	@bash scripts/setup.sh
	@touch $@

train-env: $(TRAIN_READY) ## install torch and what else training needs into .venv-train (1.6 GB)

$(TRAIN_READY): pyproject.toml scripts/train_env.py
	@python3 scripts/train_env.py

demo: $(READY) ## run a small local model on 16 starter problems and write a report
	@$(BIN)/caretbench models pull $(DEMO_MODEL)
	@$(DEMO_COMMAND)
	@printf '%s\n' '' 'Next: open $(DEMO_RUN)/report.html in a browser. Then, after `export PATH="$$PWD/.venv/bin:$$PATH"`:' \
	  '  a model       caretbench run devbench -m openai/gpt-4o-mini' \
	  '  your server   caretbench run devbench -m server/@http://127.0.0.1:8000' \
	  '  a repository  caretbench run codevbench --project path/to/repository -m gguf/smollm2 --limit 20' \
	  '  outputs       caretbench score devbench --completions answers.jsonl'

test-train: $(TRAIN_READY) ## a tiny model learns pairs by heart, and gives them back through GGUF and run
	@OMP_NUM_THREADS=1 .venv-train/bin/pytest -p no:cacheprovider tests/training/test_training_tuning.py

# One process: to import all test files takes 23 s of CPU in each.
test: $(READY) ## smoke test: a real path through every room
	@$(BIN)/pytest -m smoke

test-most: $(READY) ## run all tests but the long ones, as `make check` does
	@$(BIN)/pytest -m 'not long' $(PYTEST_ARGUMENTS)

test-long: $(READY) ## run the long tests: twenty kills, every combination of attacks, released data
	@$(BIN)/pytest -m long $(PYTEST_ARGUMENTS)

quick: lint types ## lint, types, and the tests of rooms that differ from main (or BASE=REVISION), but the long ones
	@$(BIN)/pytest -m 'not long' $(PYTEST_ARGUMENTS) $$(bash scripts/changed_tests.sh $(BASE))

lint: $(READY) ## ruff: lint and format
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: $(READY) ## mypy, strict
	@$(BIN)/mypy

site: $(READY) ## build the documentation into docs/_build/html; warnings are errors
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo "documentation: docs/_build/html/index.html"

packages: $(READY) ## build the source distribution and the wheel into dist/
	@rm -rf dist
	@PATH="$$PATH:$(CURDIR)/.venv-tools/bin" uv build --quiet --out-dir dist
	@ls dist/*

changelog: $(READY) ## print the changes since the last release, from the files of changelog.d/
	@$(BIN)/towncrier build --draft

# Each part is timed, and the first that fails ends it. The tests come last: their summary, with their time, ends it all.
check: $(READY) ## everything that must be green before a commit: all but the long tests
	@for part in lint types site packages; do \
	  begin=$$SECONDS; $(MAKE) --no-print-directory $$part || exit; \
	  printf '== %s: %d min %02d s\n' $$part $$(((SECONDS - begin) / 60)) $$(((SECONDS - begin) % 60)); done
	@$(MAKE) --no-print-directory test-most

bundles: $(READY) ## build the dependency bundles of all suites (says which system packages it needs)
	@$(BIN)/caretbench deps build

clean: ## remove what was made here; bundles and caches outside this folder stay
	@rm -rf $(VENV) .venv-tools .venv-train .mypy_cache .ruff_cache .pytest_cache .hypothesis runs/demo docs/_build dist
