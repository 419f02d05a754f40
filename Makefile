# make help lists the targets. Everything is installed into .venv, nothing outside this folder.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:

# What may be set on the command line
PYTHON ?=
TORCH_BACKEND ?=
TARGETS ?= all
# Made before the others by a plain `make reproduce`, if it is there: a newcomer's first figure.
FIRST := $(if $(wildcard conf/figure/partial_recovery/fig4_fixed_s.yaml),--prioritize partial_recovery_fig4_fixed_s)
PRESET ?=
ARGS ?=
TEST_JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SNAKEMAKE := $(BIN)/snakemake
OUTER_PATH := $(PATH)
# Without its bytecode torch takes 4.4 s to import instead of 1.4 s, in every job.
unexport PYTHONDONTWRITEBYTECODE

# One thread per job, parallelism from jobs; jobs find `gcexp` on the path.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PATH := $(CURDIR)/$(BIN):$(PATH)

# $(call hold,file,other): holds a lock on the file until the shell ends, waiting for another make if need be. `flock`
# where there is one, else Python's (the lock belongs to descriptor 9, which the shell keeps). Without either: no lock.
define hold
exec 9> $(1); \
if command -v flock > /dev/null 2>&1; then \
	flock -n 9 || { echo "$(2): waiting for it"; flock 9; }; \
elif command -v python3 > /dev/null 2>&1; then \
	python3 -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' || true; \
fi
endef

.PHONY: help setup reproduce test publish bench lint format lock clean distclean FORCE

help: ## this list
	@echo "make TARGET [PYTHON=python3.12] [TORCH_BACKEND=cpu] [TARGETS=figure] [PRESET=paper] [ARGS='more arguments']"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install everything into .venv (TORCH_BACKEND=cpu: torch without CUDA; PYTHON=: which Python)

# Installs again when the lock or pyproject.toml changed, or when this folder was moved or copied (a virtual environment
# does not survive that). A second make waits for the first, then finds the work done.
ifneq ($(shell cat $(STAMP) 2> /dev/null),$(CURDIR))
$(STAMP): FORCE
endif
$(STAMP): requirements.lock pyproject.toml
	@mkdir -p .snakemake
	@PATH="$(OUTER_PATH)"; export PATH; \
	$(call hold,.snakemake/setup.lock,another make installs in this folder); \
	if [ -f $@ ]; then \
		if [ "$$(cat $@)" != "$(CURDIR)" ]; then \
			rm -rf $(VENV); \
		elif [ -z "$$(find requirements.lock pyproject.toml -newer $@)" ]; then \
			exit 0; \
		fi; \
	fi; \
	if ! $(BIN)/python -m pip --version > /dev/null 2>&1; then \
		python=; found=; \
		for candidate in $(or $(PYTHON),python3.11 python3); do \
			version=$$($$candidate -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2> /dev/null) || continue; \
			found="$$found $$candidate is $$version,"; \
			if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then python=$$candidate; break; fi; \
		done; \
		if [ -z "$$python" ]; then \
			echo "gcexp needs Python 3.11 or newer, but$${found:- there is no $(or $(PYTHON),python3.11 or python3),}" \
				"so install one or name one: make PYTHON=/path/to/python3.11" >&2; \
			exit 2; \
		fi; \
		echo "Creating $(VENV) with $$python ($$version)"; \
		$$python -m venv --clear $(VENV) || { \
			echo "$$python could not create $(VENV): its venv module may be missing (Debian, Ubuntu: package python3-venv)" >&2; \
			exit 2; \
		}; \
	fi; \
	if $(BIN)/python -m pip install --quiet uv \
		&& export UV_FIND_LINKS="$${UV_FIND_LINKS:-$$(echo "$${PIP_FIND_LINKS:-}" | tr -s ' ' ',')}" \
		&& $(BIN)/uv pip install --python $(BIN)/python $(if $(TORCH_BACKEND),--torch-backend $(TORCH_BACKEND)) \
			-r requirements.lock \
		&& $(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps -e .; \
	then :; else \
		echo "uv could not install everything: trying again with pip, which is slower"; \
		$(if $(TORCH_BACKEND),echo "TORCH_BACKEND works only through uv: pip installs the ordinary torch";) \
		$(BIN)/python -m pip install --quiet -r requirements.lock \
			&& $(BIN)/python -m pip install --quiet --no-deps -e . \
			|| { echo "neither uv nor pip could install requirements.lock: see their messages above" >&2; exit 2; }; \
	fi; \
	echo "$(CURDIR)" > $@; \
	echo "Installed into $(VENV)"

# --unlock only when a killed run left its lock; --config comes after the targets because it swallows what follows it.
reproduce: $(STAMP) ## figures, scorecard and report (TARGETS=figure or paper; PRESET=paper; ARGS=-n shows what would run)
	@$(if $(and $(PRESET),$(filter --config --config=% -C,$(ARGS))),\
		echo "a --config in ARGS would hide PRESET: leave out PRESET and write ARGS='--config preset=$(PRESET) ...'" >&2; exit 2)
	@mkdir -p .snakemake
	@$(call hold,.snakemake/make.lock,another make works in this folder); \
	[ -z "$$(ls .snakemake/locks 2> /dev/null)" ] || $(SNAKEMAKE) --unlock; \
	$(SNAKEMAKE) $(TARGETS) $(if $(filter all,$(TARGETS)),$(FIRST)) $(if $(PRESET),--config preset=$(PRESET)) $(ARGS) || exit $$?; \
	index=reports/$(or $(PRESET),quick)/index.html; \
	if [ -f $$index ]; then echo "Figures, scorecard and report: $$index"; \
	else echo "Figures are under $$(dirname $$index); plain 'make reproduce' also writes its index.html"; fi

test: $(STAMP) lint ## lint, then all tests (ARGS='tests/unit -k cyclic')
	@$(BIN)/python -m pytest -n $(TEST_JOBS) $(ARGS)

publish: $(STAMP) ## copy reports/paper to reports/published, to be committed
	@$(BIN)/gcexp publish $(ARGS)

bench: $(STAMP) ## time the hot paths
	@$(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMP) ## check style, change nothing
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/snakefmt --check --compact-diff Snakefile workflow

format: $(STAMP) ## format Python and Snakemake files, sort imports
	@$(BIN)/ruff check --quiet --select I --fix
	@$(BIN)/ruff format
	@$(BIN)/snakefmt Snakefile workflow

# Keeps the pins that pyproject.toml still allows. Only public versions are pinned, and no CUDA library: each torch wheel
# brings its own.
lock: $(STAMP) ## pin versions after an edit of pyproject.toml (ARGS=--upgrade: newest of everything)
	@export UV_FIND_LINKS="$${UV_FIND_LINKS:-$$(echo "$${PIP_FIND_LINKS:-}" | tr -s ' ' ',')}"; \
	$(BIN)/uv pip compile --quiet --python $(BIN)/python --extra test --annotation-style line \
		--custom-compile-command 'make lock' $(ARGS) pyproject.toml -o requirements.lock
	@sed -E -e '/^(nvidia-|cuda-|triton)/d' -e 's/^([a-z0-9.-]+==[^ +]+)\+[a-z0-9.]+/\1/' requirements.lock > requirements.lock.new
	@mv requirements.lock.new requirements.lock

clean: ## remove results and unpublished reports; keep data
	@mkdir -p .snakemake
	@$(call hold,.snakemake/make.lock,another make works in this folder); \
	rm -rf results reports/quick reports/paper logs benchmarks-raw .snakemake

distclean: clean ## clean, and remove .venv and prepared data; keep data/raw
	@rm -rf $(VENV) data/prepared
