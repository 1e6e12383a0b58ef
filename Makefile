# Two commands: `make demo` runs the main job, `make test` runs every test. Both set up .venv in the checkout first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
METADATA := pyproject.toml runtime/pyproject.toml

# An editable install knows the folder it was made in: a checkout that was moved starts again.
ifneq ($(shell cat $(VENV)/.checkout 2>/dev/null),$(CURDIR))
.PHONY: $(VENV)/.checkout
endif

.PHONY: demo test lint clean

demo: $(VENV)/.run
	$(BIN)/harelc build examples
	$(BIN)/python examples/order_demo.py

test: $(VENV)/.test lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/harelc build --check

clean:
	rm -rf $(VENV) .harelc-cache

$(VENV)/.checkout:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 ..." >&2; exit 2; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || \
	  { $(PYTHON) -m venv --without-pip --clear $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; } 2>/dev/null || \
	  { rm -rf $(VENV); echo "no pip for the virtual environment: apt-get install python3-venv" >&2; exit 2; }
	@printf '%s' "$$(pwd -P)" > $@

$(VENV)/.run: $(METADATA) $(VENV)/.checkout
	@echo "installing harelc and harel-runtime into $(VENV)"
	@$(PIP) install --editable ./runtime --editable .
	@touch $@

$(VENV)/.test: $(METADATA) $(VENV)/.checkout
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) install --editable ./runtime --editable '.[test]'
	@touch $@ $(VENV)/.run
