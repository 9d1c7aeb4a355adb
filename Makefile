# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
#
# The first run creates .venv, installs the versions in constraints.txt and builds the C++ core; stamp files
# make later runs skip all that, so they need no network. It prints the usual durations on two cores.
# Recipes are POSIX sh.

PYTHON    ?= python3
REAL_DATA ?= ../shared/data
BASE      ?= docker.io/library/python:3.12-slim
IMAGE     ?= stream-lab
ENGINES   ?= polars duckdb csp
ARTEFACTS ?=
BUILD_ARGS ?=

VENV      := .venv
BIN       := $(VENV)/bin
PIP       := $(BIN)/python -m pip --disable-pip-version-check
CREATED   := $(VENV)/.stamp-created
WANTED    := $(VENV)/requirements.txt
DEPS      := $(VENV)/.stamp-dependencies
# What the set-up compiles is kept there (pyproject.toml): the C++ tests link with it.
CORE      := build/core
INSTALLED := $(CORE)/.stamp-installed
# The C++ tests are not part of the installed extension, so they do not make it stale.
NATIVE    := $(wildcard CMakeLists.txt CMakePresets.json cmake/*.cmake) \
             $(shell find engines/multicore -path '*/tests' -prune -o \
                 \( -name '*.cc' -o -name '*.h' -o -name CMakeLists.txt \) -print 2>/dev/null)
BASELINE  := results/baselines/instructions.json
# What `make test` runs. CI runs the first as a stage of its own and names only pytest here.
TEST_STAGES ?= cpp-test pytest
# More than cores: many tests wait for processes of theirs.
TEST_PROCESSES ?= 3

# cmake and ninja are the environment's own, whatever the machine has.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
# Stages share two cores; run them one after the other even under -j.
.NOTPARALLEL:
.PHONY: help setup dependencies demo test test-all pytest format lint cpp-test stress perturbed stress-long bench wheel docs docs-serve instructions \
        instructions-baseline targets lock image artefacts clean engine

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	    | awk -F'|' '{ printf "%-22s %s\n", $$1, $$2 }'

$(CREATED):
	@tools/check-machine "$(PYTHON)"
	@echo "set-up 1 of 3: creating $(VENV) (usually 10 s)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

# Rewritten only when its content changes, so that editing another part of pyproject.toml needs no network.
$(WANTED): pyproject.toml tools/requirements.py $(CREATED)
	@$(BIN)/python tools/requirements.py > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(DEPS): constraints.txt $(WANTED)
	@echo "set-up 2 of 3: installing the packages pinned in constraints.txt: core, all extras, tools (usually 3 min)"
	@$(PIP) install --quiet --use-pep517 --constraint constraints.txt --requirement $(WANTED)
	@touch $@

dependencies: $(DEPS) ## create .venv and install the pinned dependencies only

$(INSTALLED): $(DEPS) pyproject.toml $(NATIVE)
	@echo "set-up 3 of 3: compiling the C++ core, and installing the lab into $(VENV) (usually 1 min)"
	@mkdir -p $(CORE) && touch $@.new  # as old as what is read: a source that is saved meanwhile is newer
	@$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@sed -i '1i """PYTEST_DONT_REWRITE: it is imported before pytest, which warns of such modules of a plugin."""' \
		$(VENV)/lib/python*/site-packages/_editable_skbc_stream_lab.py
	@mv $@.new $@

setup: $(INSTALLED) ## create .venv, install the dependencies, build the C++ core

engine: $(INSTALLED) ## install what one engine needs beside the lab (NAME=polars), at pinned versions
	@[ -n "$(NAME)" ] || { echo "missing: NAME; \`make engine NAME=polars\`, see \`lab list engines\`" >&2; exit 1; }
	@$(BIN)/lab environment "$(NAME)"

demo: $(INSTALLED) ## run the demo matrix, verify it, print its table and the path of the HTML report
	@$(BIN)/lab run --demo --report $(if $(wildcard $(REAL_DATA)),--real-data "$(REAL_DATA)")

# stages NAMES: runs them all, also after one has failed, and ends with a summary; one alone has its own.
stages = @failed=; \
	for stage in $(1); do $(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; done; \
	[ $(words $(1)) -lt 2 ] || for stage in $(1); do \
	    case " $$failed " in *" $$stage "*) outcome=FAILED;; *) outcome=ok;; esac; \
	    printf 'test stage %s: %s\n' $$stage $$outcome; \
	done; \
	[ -z "$$failed" ]

test: $(INSTALLED) ## what every change is tested with: minutes
	$(call stages,$(TEST_STAGES))

test-all: export PYTEST_ARGS += -m ''
test-all: export LAB_STRESS := all
test-all: $(INSTALLED) ## everything: full products, the sanitizers; every night, and before an issue is resolved
	$(call stages,cpp-test stress perturbed pytest)

# The tests of Spark stay in one of them (tests/groups.py).
# What is imported is compiled once, or each of the hundreds of processes does it where PYTHONDONTWRITEBYTECODE is set.
# pytest compiles its plugins itself, Hypothesis's hundred files among them, which takes a second, and keeps them where the
# variable is empty.
pytest: $(INSTALLED)
	@$(BIN)/python -m compileall -q streamlab lab workloads engines results reports
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --durations=30 $(PYTEST_ARGS)

CXX_SOURCES = $$(find engines/multicore -name '*.h' -o -name '*.cc')

format: $(DEPS) ## write the format of Python and C++ sources
	$(BIN)/ruff check --fix --select I . && $(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

lint: $(INSTALLED) ## ruff, clang-format, rustfmt if there is one, mypy --strict and the import contracts
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)
	! command -v rustfmt > /dev/null || rustfmt --check --edition 2024 engines/timely/rust/src/main.rs
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 streamlab lab workloads engines results reports # files name their encoding
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# preset NAME: configures, builds and tests one preset of CMakePresets.json in build/NAME.
preset = cmake --preset $(1) && cmake --build --preset $(1) && ctest --preset $(1) $(CTEST_ARGS)

cpp-test: $(INSTALLED) ## the C++ tests, optimised, of the core that the set-up has built
	@cmake --build $(CORE)  # a source that is gone makes no file newer
	$(call preset,installed)

stress: $(DEPS) ## the C++ tests under the thread, address and undefined-behaviour sanitizers
	$(call preset,tsan)
	$(call preset,asan-ubsan)

perturbed: $(DEPS) ## the stress tests with threads that lose their core at random (LAB_PERTURB_RATE, LAB_PERTURB_SEED)
	$(call preset,perturbed)

stress-long: export LAB_STRESS_ROUNDS ?= 500
# The presets' time-out, which is there to catch a lost wake-up, is for the quick setting.
stress-long: CTEST_ARGS := --timeout 7200
stress-long: stress ## the same with many more rounds (LAB_STRESS_ROUNDS, default 500)

bench: $(INSTALLED) ## time the core's structures, planning and due times; build/bench.json
	@mkdir -p build
	$(BIN)/python -m pytest benchmarks --benchmark-json=build/bench.json

wheel: $(INSTALLED) ## build a wheel in dist/, install it elsewhere and run a small demo: a minute
	@rm -rf dist
	LAB_WHEEL_DIR="$(CURDIR)/dist" $(BIN)/python -m pytest -n 0 -m full tests/house/test_wheel.py
	@echo "wheel: $$(ls dist/*.whl)"

instructions: $(INSTALLED) ## count the instructions of the core's structures and gate them
	@tools/instructions $(BIN)/python build/instructions.json $(BASELINE)

instructions-baseline: $(DEPS) ## count them and make that the baseline; say why in the commit
	$(BIN)/python -m benchmarks.instructions --out $(BASELINE)
	@git --no-pager diff --stat -- $(BASELINE) || true

targets: $(INSTALLED) ## measure the figures in benchmarks/targets.toml (ONLY='pattern'); fails when one is short
	$(BIN)/python -m benchmarks.targets $(if $(ONLY),--only '$(ONLY)')

docs: $(INSTALLED) ## build the documentation site in build/site; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site: $$(find build/site -name '*.html' | wc -l) pages; read them with 'make docs-serve'"

docs-serve: docs ## show the documentation site, with its search, at http://127.0.0.1:8000
	@cd build/site && $(CURDIR)/$(BIN)/python -m http.server --bind 127.0.0.1 8000

lock: ## refresh constraints.txt from the registry, in a throw-away environment
	@tools/check-machine "$(PYTHON)"
	@tools/lock "$(PYTHON)"

image: ## build the container image (BASE, ENGINES, ARTEFACTS, IMAGE, BUILD_ARGS) with podman or docker
	@engine=$$(command -v podman || command -v docker) || { \
	    echo "missing: a container engine; remedy: apt-get install -y podman runc" >&2; exit 1; }; \
	"$$engine" build --build-arg BASE="$(BASE)" --build-arg ENGINES="$(ENGINES)" \
	    $(if $(ARTEFACTS),--build-context artefacts="$(ARTEFACTS)") \
	    --build-arg SOURCE_DIGEST="$$("$(PYTHON)" -I lab/isolate/source.py)" --tag "$(IMAGE)" $(BUILD_ARGS) .

artefacts: $(INSTALLED) ## download the packages of an image (ENGINES) into build/artefacts, for ARTEFACTS=build/artefacts
	$(BIN)/python tools/artefacts.py build/artefacts $(WANTED) constraints.txt $(ENGINES)

clean: ## remove the environment and everything built; results and data stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
