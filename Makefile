# Every target does all of its own set-up: a fresh machine needs make, Python 3.10 to 3.13 and its venv module.
# Another interpreter: make test PYTHON=python3.12. Where there is an NVIDIA driver, the GPU pieces are installed too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED_GPU := $(VENV)/.installed-gpu
GPU := $(shell nvidia-smi -L 2>/dev/null)
INSTALLED := $(if $(GPU),$(INSTALLED_GPU),$(VENV)/.installed)
# What a user needs, without what works on Swizzle itself: tests, lint, documentation.
PLAIN := $(VENV)/.installed-plain
PINS := setup.cfg pyproject.toml constraints.txt

# The constraints hold inside pip's build environment too, so that tomorrow's install is today's.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
       $(BIN)/python -m pip install --quiet -c constraints.txt

# make gpu GPU_PYTHON=python3 runs in an environment that is there: one with PyTorch and CuPy, or one without a network.
# make gpu-bench BUDGET=500 ends in time; GPU_FLAGS are options of `python -m bench.gpu`.
GPU_RUN := $(or $(GPU_PYTHON),$(BIN)/python)
GPU_READY := $(if $(GPU_PYTHON),,$(INSTALLED_GPU))

.PHONY: demo test test-all test-versions test-for lint bench mutants fuzz gpu gpu-test gpu-bench docs docs-errors docs-rules gallery screenshots clean

demo: $(PLAIN)
	$(BIN)/swizzle solve case_studies/conv1d.py -o out
	$(BIN)/swizzle run out/conv1d.json
	@echo 'Now the command is yours:  . $(BIN)/activate;  swizzle solve --help'

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-all: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow or not slow'
	$(MAKE) test-versions

# Each supported Python that this machine has runs the tests, in an environment of its own.
test-versions:
	@for version in 3.10 3.11 3.12 3.13; do \
	  if python$$version -c '' 2>/dev/null; then \
	    echo "Python $$version" && $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	  else echo "Python $$version is not on this machine"; fi; \
	done

# make test-for FILE=symbolic/ir/walk.py: the tests of one module (bench/test_for.py).
test-for: $(INSTALLED)
	$(BIN)/python bench/test_for.py $(FILE)

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python bench/run.py

gpu:
	$(MAKE) gpu-test
	$(MAKE) gpu-bench

gpu-test: $(GPU_READY)
	$(GPU_RUN) -m pytest -m gpu

gpu-bench: $(GPU_READY)
	$(GPU_RUN) -m bench.gpu --partial $(if $(BUDGET),--budget $(BUDGET)) $(GPU_FLAGS)

mutants: $(INSTALLED)
	$(BIN)/python bench/printed_mutants.py

# make fuzz BUDGET=300: for so many seconds (docs/what-runs-code.md).
fuzz: $(INSTALLED)
	$(BIN)/python -m bench.fuzz --budget $(or $(BUDGET),60)

docs: $(INSTALLED)
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs build/docs
	@echo 'The site: build/docs/index.html'

docs-errors: $(INSTALLED)
	$(BIN)/python docs/make_errors.py

docs-rules: $(INSTALLED)
	$(BIN)/python docs/make_rules.py

gallery: $(INSTALLED)
	$(BIN)/python docs/make_gallery.py

screenshots: $(INSTALLED)
	$(BIN)/python docs/screenshots.py

clean:
	rm -rf $(VENV) .venv-3.* out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; \
	sys.exit(0 if (3, 10) <= v <= (3, 13) else "Python 3.10 to 3.13 is needed, %s is %d.%d; try: make PYTHON=python3.12" % (sys.executable, *v))'
	$(PYTHON) -m venv $(VENV)

$(PLAIN): $(PINS) | $(BIN)/python
	$(PIP) -e '.$(if $(GPU),[gpu])'
	@touch $@

$(VENV)/.installed: $(PINS) | $(BIN)/python
	$(PIP) -e '.[dev,docs,nvrtc]'
	@touch $@ $(PLAIN)

$(INSTALLED_GPU): $(PINS) | $(BIN)/python
	$(PIP) -e '.[dev,docs,gpu,nvrtc]'
	@touch $@ $(VENV)/.installed $(PLAIN)
