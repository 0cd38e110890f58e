# The whole set-up: `make` runs the module end to end, `make test` tests it. README.md says more.

TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH VIRTUAL_ENV

.PHONY: all demo test test-slow test-all check bank bench bench-grading format lock clean

all: demo

# pip reads TORCH first, so that an open range in a dependency never fetches another build.
$(READY): requirements.lock
	@python="$$(sh scripts/find-python.sh)" && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	@course demo

check: $(READY)
	ruff format --check .
	ruff check .
	mypy
	codespell
	lint-imports
	git ls-files -z '*.ipynb' | xargs -0 nbstripout --keep-id --verify
	course release --check
	course build

test: check
	@sh scripts/find-chromium.sh >/dev/null
	pytest -m "not slow"

test-slow: $(READY)
	@sh scripts/find-chromium.sh >/dev/null
	pytest -m slow

test-all: test test-slow

bank: $(READY)
	@python benchmarks/bank.py

bench: $(READY)
	@python benchmarks/attention.py

bench-grading: $(READY)
	@python benchmarks/grading.py

format: $(READY)
	ruff format .
	ruff check --fix .

lock: $(READY)
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes \
	  --no-annotate --no-header --no-emit-package torch pyproject.toml --output-file requirements.lock

clean:
	rm -rf _build
