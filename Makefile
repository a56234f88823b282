# demo, test, test-real, fuzz, lint, docs, bench, dist: each makes .venv and installs what it needs by itself; a second run
# finds it done.  clean takes away all that they made.
# With a working cargo the native module is built (and rebuilt when its source changes), else the pure package.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
BIN := $(VENV)/bin

ifeq ($(REHYDRATE_PURE_BUILD),)
CARGO := $(shell cargo --version >/dev/null 2>&1 && echo cargo)
endif
BUILD := $(if $(CARGO),native,pure)
export REHYDRATE_PURE_BUILD := $(if $(CARGO),,1)

BUILD_INPUTS := pyproject.toml build_backend/rehydrate_build.py build_backend/door.py
RUST_INPUTS := $(wildcard Cargo.toml Cargo.lock) $(shell find rust/src -name '*.rs' 2>/dev/null)
INSTALLED := $(VENV)/.installed-$(BUILD)

# The suite on every processor; a file, or a folder that shares something, stays with one.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup

FUZZ_S ?= 600
FUZZ_TIMES ?= 50

.PHONY: demo test test-native test-pure test-real fuzz fuzz-rust fuzz-python lint lint-python lint-rust lint-workflows docs bench bench-context bench-fidelity counts counts-baseline dist clean

demo: $(INSTALLED)
	$(BIN)/python demo/run.py

test: test-$(BUILD)

test-native: $(INSTALLED)
	cargo test --locked
	$(PYTEST)
	@echo "The same again on the pure twin (what is about both, or neither, ran above):"
	REHYDRATE_PURE=1 $(PYTEST) --ignore=tests/parity --ignore=tests/scan --ignore=tests/real \
	    --ignore=tests/build --ignore=tests/dist --ignore=tests/fuzz \
	    --ignore=tests/process/test_kills.py --ignore=tests/process/test_concurrency.py

test-pure: $(INSTALLED)
	@echo "No working cargo: the PURE package was built and is tested; the native module is not."
	$(PYTEST)

# A part of `test` by itself: the vendors' own programs, fetched on first use; what cannot be had is skipped, and said.
test-real: $(INSTALLED)
	$(BIN)/python -m pytest tests/real

# Input that nobody thought of: the scanner's core against a naive twin, FUZZ_S seconds for each target; then the hook and
# both scanners, with FUZZ_TIMES as many examples as `test` runs, and new ones each time (an hour or two).
fuzz: fuzz-rust fuzz-python

fuzz-rust:
	$(if $(CARGO),rust/fuzz/run.sh $(FUZZ_S),@echo "SKIPPED: no working cargo; the Rust half was not fuzzed.")

fuzz-python: $(INSTALLED)
	REHYDRATE_FUZZ=$(FUZZ_TIMES) $(BIN)/python -m pytest tests/fuzz

lint: lint-python lint-workflows $(if $(CARGO),lint-rust)
	$(if $(CARGO),,@echo "No working cargo: the Python half was checked; rustfmt, clippy and the compiled module's stub were not.")

lint-python: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-rust: $(INSTALLED)
	$(BIN)/python -m mypy.stubtest rehydrate._native
	cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	cargo fmt --check
	cargo fmt --check --manifest-path rust/fuzz/Cargo.toml
	cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	cargo clippy --locked --all-targets --all-features -- -D warnings

lint-workflows: $(INSTALLED)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline --persona pedantic .github/workflows

docs: $(INSTALLED)
	$(BIN)/python -m docs.generate
	$(BIN)/python -m mkdocs build --strict

# Every benchmark, and the table of them in benches/RESULTS.md (a quarter of an hour; BENCH=quick: a minute or two, small
# files).  Broken off, it goes on where it stopped.
bench: $(INSTALLED)
	@$(BIN)/python -c 'import duckdb, msgspec, orjson, polars, simdjson' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' || \
	    echo "What others use could not be installed: what is missing is not measured."
	$(BIN)/python -m benches.results $(if $(filter quick,$(BENCH)),--quick)
	$(if $(filter quick,$(BENCH)),,$(BIN)/python benches/redact.py)

# Random conversations compacted by `rehydrate.context` and by what others have, into benches/CONTEXT.md (ten minutes).
# Ours, as a pure wheel, and the others get an environment of their own, .venv-bench.
bench-context:
	@test -x $(BENCH_VENV)/bin/python || $(PYTHON) -m venv $(BENCH_VENV)
	@for extra in bench-context tokens; do \
	    REHYDRATE_PURE_BUILD=1 $(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check ".[$$extra]" && break; \
	    echo "What others use could not be installed: what is missing is not measured."; \
	done
	$(BENCH_VENV)/bin/python -m benches.context

# How many instructions the kernels and the hook take, against what benches/counts.json has for this compiler, processor
# and interpreter; counts-baseline writes it there.
counts: $(INSTALLED)
	$(BIN)/python -m benches.counts

counts-baseline: $(INSTALLED)
	$(BIN)/python -m benches.counts --record

# What a model sees again after a compaction, with the real Claude Code CLI on a private network (minutes).
bench-fidelity: $(INSTALLED)
	$(BIN)/python benches/fidelity_cli.py

dist: $(INSTALLED)
	$(BIN)/python build_backend/dist.py

clean:
	rm -rf $(VENV) $(BENCH_VENV) target dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache python/rehydrate/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed-native: $(RUST_INPUTS)
$(VENV)/.installed-native $(VENV)/.installed-pure: $(BUILD_INPUTS)
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else \
	    "Python 3.10 or later is needed: name one, as in `make demo PYTHON=python3.12`")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the $(BUILD) package$(if $(CARGO),, (no working cargo is used)) and the tools into $(VENV) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -c 'import sys; from rehydrate.scan import BACKEND as b; \
	    sys.exit(0 if b == {"native": "rust", "pure": "python"}["$(BUILD)"] else \
	    f"the $(BUILD) build gave the backend {b}: `$(BIN)/pip install -v -e .` shows why")'
	@$(if $(CARGO),test -x $(BIN)/rehydrate-hook || echo "The front door was not built: its tests are skipped.")
	@rm -f $(VENV)/.installed-*
	@touch $@
