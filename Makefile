# make help lists the targets. Everything is installed into .venv, nothing outside this folder.
# By hand, without make: python3.11 -m venv .venv && .venv/bin/pip install -r requirements.lock -e .
# Elsewhere: pip install 'gcexp[all]', or with the extras learn or workflow alone.
.DEFAULT_GOAL := help
.NOTPARALLEL:

# What may be set on the command line
PYTHON ?= $(firstword $(foreach name,python3.11 python3,$(if $(shell command -v $(name)),$(name))))
TORCH_BACKEND ?=
TARGETS ?=
PRESET ?=
ARGS ?=
# One more than the cores of a small machine: tests of real ranks and of whole builds wait some of their time. With two
# more all takes as long, and each process imports and collects for itself.
TEST_JOBS ?= 3

BIN := .venv/bin
STAMP := .venv/.installed
UV := $(or $(shell command -v uv),.cache/uv/bin/uv)
# Without its bytecode torch takes 4.4 s to import instead of 1.4 s, in every job.
unexport PYTHONDONTWRITEBYTECODE
# One thread per job, parallelism from jobs; jobs find `gcexp` on the path; uv does not read pip's settings.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export UV_FIND_LINKS ?= $(shell echo "$${PIP_FIND_LINKS:-$$($(PYTHON) -m pip config get global.find-links 2> /dev/null)}" | tr -s ' ' ',')
WITH_BIN := PATH="$(CURDIR)/$(BIN):$$PATH"
# $(call alone,file): a lock on the file until the shell ends; a second make waits here.
alone = mkdir -p .snakemake; exec 9> .snakemake/$(1); $(PYTHON) -c 'import fcntl; fcntl.flock(9, 6)' 2> /dev/null || { \
	echo "another make works in this folder: waiting for it"; $(PYTHON) -c 'import fcntl; fcntl.flock(9, 2)'; }

.PHONY: help setup reproduce test test-browser test-oldest check coverage audit verify lint format publish bench dist docs test-slurm test-faults lock clean distclean

help: ## this list
	@echo "make TARGET [PYTHON=python3.12] [TORCH_BACKEND=cpu] [TARGETS=figure] [PRESET=paper] [ARGS='more arguments']"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install everything into .venv (TORCH_BACKEND=cpu: torch without CUDA; PYTHON=: which Python)

# Scripts in .venv and the place of gcexp are relative paths: a folder that was moved or copied works as it is.
$(STAMP): requirements.lock pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "there is no Python: name one, make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@$(call alone,setup.lock); set -e; \
	if [ -e $@ ] && [ -z "$$(find requirements.lock pyproject.toml -newer $@)" ]; then exit 0; fi; \
	[ -x $(UV) ] || { $(PYTHON) -m venv .cache/uv && .cache/uv/bin/python -m pip install --quiet uv; }; \
	$(UV) venv --quiet --clear --relocatable --python "$(PYTHON)" .venv; \
	$(UV) pip sync --quiet --python $(BIN)/python $(if $(TORCH_BACKEND),--torch-backend $(TORCH_BACKEND)) requirements.lock; \
	$(UV) pip install --quiet --python $(BIN)/python --no-deps -e . pip; \
	echo ../../../.. > "$$(ls .venv/lib/python*/site-packages/_editable_impl_gcexp.pth)"; \
	touch $@; echo "Installed into .venv. Activate it with: source .venv/bin/activate"

# After a kill -9 Snakemake says what is to be done: make reproduce ARGS=--unlock.
reproduce: $(STAMP) ## the figures and tables of the papers, and their pages (TARGETS=figure or paper; PRESET=paper; ARGS=-n shows what would run)
	@$(call alone,make.lock); $(WITH_BIN); export PATH; \
	exec snakemake $(TARGETS) $(ARGS) $(if $(PRESET),--config preset=$(PRESET))

# Lint works beside the tests: it has one core only, and ends first.
test: $(STAMP) ## lint and all tests (ARGS='tests/unit -k cyclic')
	@$(MAKE) --no-print-directory lint & lint=$$!; \
	$(WITH_BIN) python -m pytest -n $(TEST_JOBS) --dist worksteal $(ARGS); tests=$$?; \
	wait $$lint || { echo "make lint failed: see above, or run it again" >&2; exit 1; }; exit $$tests

check: $(STAMP) ## all tests but the slow ones
	@$(WITH_BIN) python -m pytest -n $(TEST_JOBS) --dist worksteal -m 'not slow and not workflow' $(ARGS)

# Lies beside .venv, as Sphinx does.
COVERAGE := .cache/coverage
$(COVERAGE)/.installed: $(STAMP)
	@rm -rf $(COVERAGE) && $(UV) pip install --quiet --python $(BIN)/python --target $(COVERAGE) 'coverage>=7.10,<8' && touch $@

coverage: $(COVERAGE)/.installed ## lines that the fast tests do not reach (ARGS='tests/unit -k cyclic')
	@$(WITH_BIN) PYTHONPATH="$(CURDIR)/$(COVERAGE)"; export PATH PYTHONPATH; \
	python -m coverage run -m pytest -n0 -m 'not slow and not workflow' $(ARGS); python -m coverage report

# Of what simulates and trains, beside .venv, whose torch is the only one that is allowed.
OLDEST := .cache/oldest
$(OLDEST)/.installed: $(STAMP) pyproject.toml
	@rm -rf $(OLDEST) && $(UV) pip install --quiet --python $(BIN)/python --resolution lowest-direct --target $(OLDEST) \
		-r pyproject.toml $$(sed -nE '/^learn = /,/^]/ { /torch/d; s/^ *"(.*)",$$/\1/p }; s/^ *"(snakemake>=.*)",$$/\1/p' pyproject.toml) && touch $@

test-oldest: $(OLDEST)/.installed ## doctests, experiments from Python and the plan of a project on the oldest versions that may be installed
	@$(WITH_BIN) PYTHONPATH="$(CURDIR)/$(OLDEST)" python -m pytest -n $(TEST_JOBS) gcexp tests/unit/test_experiments.py \
		tests/unit/test_init.py::test_a_new_project_is_planned_by_snakemake $(ARGS)

audit: $(STAMP) ## judge what the papers state on the published tables (ARGS=PAPER; exit code 1 if an outcome changed)
	@$(BIN)/gcexp audit $(ARGS)

verify: $(STAMP) ## compare fresh tables with the published ones (ARGS='TARGET --preset paper')
	@$(BIN)/gcexp verify $(ARGS)

test-browser: $(STAMP) ## the pages in a headless Chromium, which must be installed with its ChromeDriver
	@$(WITH_BIN) GCEXP_TEST_BROWSER=1 python -m pytest -n0 -rs tests/browser $(ARGS)

# Two builds of one commit give the same bytes.
dist: $(STAMP) ## build wheel and sdist into dist/ and check what a package index would show
	@rm -rf dist && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist
	@[ -x .cache/twine/bin/twine ] || { $(PYTHON) -m venv .cache/twine && .cache/twine/bin/python -m pip install --quiet 'twine>=6'; }
	@.cache/twine/bin/python -m twine check --strict dist/*

publish: $(STAMP) ## copy reports/paper to reports/published, to be committed
	@$(BIN)/gcexp publish $(ARGS)

bench: $(STAMP) ## time the hot paths
	@$(WITH_BIN) python -m benchmarks $(ARGS)

# Sphinx lies beside .venv: set-up needs none of it.
DOCS := .cache/docs
$(DOCS)/.installed: $(STAMP) requirements-docs.lock
	@rm -rf $(DOCS) && $(UV) pip install --quiet --python $(BIN)/python --no-deps --target $(DOCS) -r requirements-docs.lock && touch $@

docs: $(DOCS)/.installed ## build the documentation into build/docs (ARGS=-E: everything anew)
	@rm -rf docs/generated/api  # pages of modules that are gone
	@$(WITH_BIN) PYTHONPATH="$(CURDIR)/$(DOCS):$(CURDIR)" python -m sphinx -q -W --keep-going -b html docs build/docs $(ARGS)
	@echo "Open build/docs/index.html"

test-slurm: $(STAMP) ## tests on a one-node Slurm of their own (needs Debian's slurm-wlm and munge; else they are skipped)
	@$(WITH_BIN) GCEXP_TEST_SLURM=1 python -m pytest -n0 -rs tests/slurm $(ARGS)

# Half an hour.
test-faults: $(STAMP) ## whole builds with kills, full disks, lost folders and damaged files (ARGS='--seed 1')
	@$(WITH_BIN) python -m tests.faults $(ARGS)

lint: $(STAMP) ## check style, types and imports, change nothing
	@$(BIN)/ruff check --quiet && $(BIN)/ruff format --quiet --check
	@$(BIN)/snakefmt --check --compact-diff Snakefile workflow
	@$(BIN)/mypy --no-error-summary
	@told=$$($(BIN)/lint-imports --no-logo --no-cache) || { echo "$$told"; exit 1; }

format: $(STAMP) ## format Python and Snakemake files, sort imports
	@$(BIN)/ruff check --quiet --select I --fix; $(BIN)/ruff format; $(BIN)/snakefmt Snakefile workflow

# Public versions only, and no CUDA library: each torch wheel brings its own.
# No hashes: one lock serves the CPU wheel of torch and the one with CUDA, which are different files.
lock: $(STAMP) ## pin versions after an edit of pyproject.toml (ARGS=--upgrade: newest of everything)
	@$(UV) pip compile --quiet --python $(BIN)/python --extra all --extra test --annotation-style line \
		--custom-compile-command 'make lock' $(ARGS) pyproject.toml -o requirements.lock
	@sed -E -i.old -e '/^(nvidia-|cuda-|triton)/d' -e 's/^([a-z0-9.-]+==[^ +]+)\+[a-z0-9.]+/\1/' requirements.lock
	@rm requirements.lock.old
	@$(UV) pip compile --quiet --python $(BIN)/python --extra docs -c requirements.lock --no-annotate \
		--custom-compile-command 'make lock' $(ARGS) pyproject.toml -o requirements-docs.lock
	@sed 's/ *#.*//; /^$$/d' requirements.lock | grep -vxFf - requirements-docs.lock > requirements-docs.new
	@mv requirements-docs.new requirements-docs.lock

clean: ## remove results and unpublished reports; keep data
	@$(call alone,make.lock); rm -rf results reports/quick reports/paper logs build/docs docs/generated .snakemake

distclean: clean ## clean, and remove .venv and prepared data; keep data/raw
	@rm -rf .venv .cache data/prepared
