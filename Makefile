# elver: everything runs in a local .venv made from nothing but Python 3.11 (or newer) and its venv module.
#
#   make demo    an arm, a parallel robot and an eel move; three reports and a film under out/demo
#   make test    ruff, mypy, the import contract, pytest
#
# make setup | lint | bench | docs | clean do what they say.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
JOBS   ?= 2

# Bytecode of what is imported is kept, also where the environment says otherwise: each start is three times as quick.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test pytest browser lint bench docs clean

help:
	@sed -n 's/^# \{0,1\}//; 1,6p' Makefile

setup: $(VENV)/.ready-dev

# An environment with elver and some extras.
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
  "elver needs Python 3.11 or newer, found %d.%d; try: make PYTHON=python3.11 $(MAKECMDGOALS)" % sys.version_info[:2])'
$(PYTHON) -m venv $(VENV)
$(PIP) install --quiet --editable '.[$(1)]'
endef

# Stamps are written last: an interrupted step starts again. What developers need holds all that users do.
$(VENV)/.ready: pyproject.toml
	$(call install,view)
	@touch $@

$(VENV)/.ready-dev: pyproject.toml
	$(call install,dev)
	@touch $(VENV)/.ready
	$(BIN)/elver warmup
	@touch $@

demo: $(VENV)/.ready
	@mkdir -p out/demo
	@for robot in tendon-arm parallel-robot eel; do \
	  $(BIN)/elver new $$robot out/demo/$$robot.toml --force > /dev/null \
	  && $(BIN)/elver run out/demo/$$robot.toml --out out/demo/$$robot.nc \
	  && $(BIN)/elver report out/demo/$$robot.nc || exit 1; done
	$(BIN)/elver gallery run boyer-2023-tendon-arm --out out/demo
	@echo "Open out/demo/tendon-arm.html, parallel-robot.html and eel.html in a browser, and look at the film"
	@echo "out/demo/animation.gif. Live, with a slider for each tendon:"
	@echo "  $(BIN)/elver view out/demo/tendon-arm.toml"

lint: setup
	$(BIN)/ruff check src tests gallery benchmarks docs studies
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests of the live view need a browser. Where it is missing, CI installs Debian's; elsewhere they are skipped
# and say so.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v $$name > /dev/null; then exit 0; fi; done; \
	if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else echo "no chromium here: the tests of the page are skipped (apt-get install chromium)"; fi

# Installing waits for the network, mypy takes one core: what can run beside them does.
test:
	@$(MAKE) --no-print-directory -j 2 setup browser
	@$(MAKE) --no-print-directory -j 2 lint pytest

pytest: setup
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --durations=20

bench: setup
	$(BIN)/elver bench

$(VENV)/.ready-docs: $(VENV)/.ready-dev
	$(PIP) install --quiet --editable '.[docs]'
	@touch $@

docs: $(VENV)/.ready-docs
	@for page in $(notdir $(patsubst %/paper.toml,%,$(wildcard gallery/*/paper.toml))); do \
	  [ -f docs/_build/gallery/$$page/metrics.json ] || { echo "$$page ..."; \
	  $(BIN)/elver gallery run $$page --quick --out docs/_build/gallery/$$page > /dev/null || exit 1; }; done
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) out docs/_build build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
