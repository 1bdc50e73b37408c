# Everything here runs on a machine with Python 3.11 or newer and nothing else: each target first sees to .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Tests run in two processes, so each keeps to one thread.
PYTEST := OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(RUN) -m pytest
TYPED := $(wildcard agents arena benchmarks train.py evaluate.py export.py)

.PHONY: help setup train test test-all test-plain check format bench bench-train mutate wheel clean

help: ## these lines
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

setup: $(VENV)/installed ## .venv with everything; runs again only when pyproject.toml or constraints.txt change

# The stamp is written last, so an interrupted install starts over.
$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed; $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[all]'
	@touch $@

train: setup ## train by self-play on the CPU (about ten minutes), then compare with heuristic and random
	$(RUN) train.py configs/cpu.toml --out runs/cpu --resume
	$(RUN) evaluate.py runs/cpu heuristic random --deals 2000 --seed 1

test: setup ## the tests, without the slow ones
	$(PYTEST) -n 2

test-all: setup ## every test
	$(PYTEST) -n 2 -m ""

test-plain: setup ## the tests of rules, encoder and solver again, the compiled code running as plain Python
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n 2 tests/rules tests/test_compiled.py tests/test_observation.py tests/test_solver.py

check: setup ## style and types; changes nothing
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy --strict malilla_env
	$(if $(TYPED),$(RUN) -m mypy $(TYPED))

format: setup ## put style right
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: setup ## speed on one core, beside peers measured in the same run (benchmarks/results.json)
	$(RUN) -m benchmarks --json benchmarks/results.json

bench-train: setup ## speed of training on all cores, beside MaskablePPO in the same run (benchmarks/training.json)
	$(RUN) -m benchmarks.training --json benchmarks/training.json

mutate: setup ## break the rules in small ways, one at a time; the tests must notice each
	$(RUN) tests/mutate.py

wheel: setup ## dist/*.whl, malilla_env alone
	$(RUN) -m build --wheel --no-isolation

clean: ## remove what was built; keeps .venv and runs/
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
