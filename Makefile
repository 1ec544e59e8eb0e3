# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
SYNC := $(BIN)/pip --disable-pip-version-check install --quiet --require-hashes

.PHONY: help run test check test-slow bench lock clean

help:           ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: .venv/run  ## serve on 127.0.0.1:7334 with data in ./data (ARGS="--domain ..." adds flags)
	$(BIN)/graspd serve $(ARGS)

test: check     ## lint, types, import contract, and every test that is not slow
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" $(ARGS)

check: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test-slow: .venv/test ## the tests that take minutes or hours
	$(BIN)/pytest -m slow $(ARGS)

bench: .venv/test ## the benchmarks, e.g. make bench ARGS=ingest
	$(BIN)/python -m bench $(ARGS)

.venv/base:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "graspd needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/run: .venv/base requirements/run.txt pyproject.toml
	$(SYNC) -r requirements/run.txt
	$(BIN)/pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/test: .venv/run requirements/test.txt
	$(SYNC) -r requirements/test.txt
	@touch $@

lock:           ## write requirements/*.txt anew from pyproject.toml and requirements/*.in (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		pyproject.toml requirements/run.in -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		requirements/test.in -o requirements/test.txt

clean:          ## remove the virtual environment and caches; data stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
