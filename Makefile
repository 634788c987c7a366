# make setup | demo | firmware | check | test | test-all | test-frameworks | test-ecosystems | zoo | coverage | mutants
#      fuzz | docs | lint | lock | wheel | format | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The many processes that tests start share what one of them compiled.
unexport PYTHONDONTWRITEBYTECODE
C_FILES = $(shell git ls-files '*.c' '*.h' '*.cuh')

.PHONY: setup demo firmware check test test-all test-frameworks test-ecosystems zoo coverage mutants fuzz docs lint lock wheel format clean

setup:
	@PYTHON="$(PYTHON)" tools/setup_system.sh
	@$(MAKE) --silent $(READY)

$(READY): pyproject.toml constraints.txt tools/setup_python.sh
	@PYTHON="$(PYTHON)" tools/setup_python.sh $(VENV)
	@touch $@

demo: setup
	@$(BIN)/tinyrt demo

# The examples that run by themselves, built and run; their table goes into docs/firmware.md.
firmware: setup
	$(BIN)/python -m tools.firmware

# Before each commit: three minutes on two cores.
check: lint
	$(BIN)/pytest -n auto --dist worksteal -m "not device and not slow"

# All that must hold.
test: setup
	@PYTHON="$(PYTHON)" tools/setup_system.sh --tests
	$(BIN)/pytest -n auto --dist worksteal

# The same with all cases of what `make test` takes samples of.
test-all: setup
	@PYTHON="$(PYTHON)" tools/setup_system.sh --tests
	TINYRT_TESTS=all $(BIN)/pytest -n auto --dist worksteal

FRAMEWORKS ?= torch transformers keras jax

# The pages for users of other frameworks, with these: gigabytes, below build/frameworks.
test-frameworks:
	@PYTHON="$(PYTHON)" tools/frameworks.sh $(FRAMEWORKS)

# What exports say to Zephyr, ESP-IDF and PlatformIO, with tools of theirs, below build/ecosystems.
test-ecosystems:
	@$(PYTHON) -m venv build/ecosystems
	@build/ecosystems/bin/python -m pip install --quiet --disable-pip-version-check \
	    --editable ".[ecosystems]"
	@build/ecosystems/bin/python -m tests.ecosystems

# The public models that many tests need, from where their authors publish them.
zoo: setup
	$(BIN)/python -m tools.zoo

# How much of the code the tests run, and whether that is enough.
coverage: setup
	@PYTHON="$(PYTHON)" tools/setup_system.sh --tests
	$(BIN)/python -m tools.branches

PATHS ?= tinyrt
NUMBER ?= 20
SEED ?= 0

# Small faults put in on purpose, each of which some test should notice.
mutants: setup
	@PYTHON="$(PYTHON)" tools/setup_system.sh --tests
	$(BIN)/python -m tools.mutants $(PATHS) --number $(NUMBER) --seed $(SEED)

MINUTES ?= 5

fuzz: setup
	@PYTHON="$(PYTHON)" tools/setup_system.sh --tests
	$(BIN)/python -m tests.fuzz all --minutes $(MINUTES) --seed $$(date +%s)

# The documentation as a site, into build/site.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@echo $(BIN)/clang-format --dry-run --Werror, all C files
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)

# What setup takes, its hashes and licences: UPGRADE=--upgrade for newer versions.
lock: setup
	$(BIN)/python tools/lock.py $(UPGRADE)

wheel: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(C_FILES)

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
