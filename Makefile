# `make` says what there is. Every target does its own set-up first, which costs nothing while nothing has changed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SETUP := @deploy/setup.sh
BIN := .venv/bin
# What Python and pytest make of each module is kept for the next process, also where the environment says to keep none:
# else each process of the tests would spend ten seconds on it.
PYTEST := env PYTHONDONTWRITEBYTECODE= $(BIN)/pytest
# What is tried in part says nothing about a commit.
passed = $(if $(ARGS),,tests/passed.sh .cache/$(1))
# Seconds that a slow test may take before it is taken for one that never ends.
PATIENCE := 7200
SCRIPTS := deploy/setup.sh .ci/run tests/passed.sh tests/smoke.sh $(wildcard deploy/packages/*.sh) $(filter-out %/databases, $(wildcard deploy/hooks/*))
LOCK := $(BIN)/uv pip compile --quiet --python-version 3.11 --universal --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(ARGS)

.PHONY: help demo try test test-all torture fresh fuzz lint types imports wheel packages upgrades native bench docs lock clean

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r name what; do printf 'make %-8s %s\n' "$$name" "$$what"; done

demo: ## one night from logs to DNS on a private name server; ARGS="..." go to `flex demo`, DEMO_DIR=... keeps its files
	$(SETUP) run named
	@$(BIN)/flex demo $(if $(DEMO_DIR),--dir "$(DEMO_DIR)") $(ARGS)

try: ## the demo's cluster, kept up until Ctrl-C: pages to open, nodes to kill, ten things to try; DEMO_DIR=... keeps its files
	$(SETUP) run named
	@$(BIN)/flex demo --serve $(if $(DEMO_DIR),--dir "$(DEMO_DIR)") $(ARGS)

test: ## every promise by its quickest proof, with real servers; says what was skipped and why (ARGS="-k name")
	$(SETUP) dev native servers
	@$(call passed,green-quick) $(PYTEST) -m "not slow and not torture" -n auto --dist loadfile $(ARGS)

test-all: ## these and the slow tests: more kills, sizes, databases and pages of the same promises (ARGS="-k name")
	$(SETUP) dev native servers
	@$(call passed,green) $(PYTEST) -m "not torture" -n auto --dist loadfile $(ARGS)

torture: ## what takes minutes each: kills at every step, faults, large inputs, and `make fresh`
	$(SETUP) dev native servers spark fresh
	@THOROUGH=1 $(PYTEST) -m torture -o faulthandler_timeout=$(PATIENCE) $(ARGS)
	@[ -n "$(ARGS)" ] || THOROUGH=5 $(PYTEST) -m "not torture" -o faulthandler_timeout=$(PATIENCE)
	@[ -n "$(ARGS)" ] || $(BIN)/python deploy/fresh.py --where-possible

fresh: ## both commands of the README on a Debian 12 that has nothing yet; as root; KIND=without-cargo, ARGS="-k name"
	$(SETUP) run fresh
	@$(BIN)/python deploy/fresh.py --only="$(ARGS)" $(KIND)

fuzz: ## bytes nobody expects, in every log format and in files of counts, or FORMAT=...; SECONDS=600 each; takes cargo-fuzz
	$(SETUP) dev native
	@nice $(BIN)/python native/fuzz/run.py $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS) $(FORMAT)

lint: ## ruff, the formatter's opinion, shell syntax
	$(SETUP) dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@for script in $(SCRIPTS); do bash -n "$$script"; done

types: ## mypy --strict over code, tests and benches
	$(SETUP) dev
	@$(BIN)/mypy

imports: ## the layers: imports point inward, edges do not import each other
	$(SETUP) dev
	@$(BIN)/lint-imports --no-logo

wheel: ## dist/: the source distribution and the wheel made from it, and the native loops' wheel where there is a cargo
	$(SETUP) dev native
	@rm -rf dist
	@$(BIN)/python -m build --no-isolation --outdir dist
	@for wheel in .cache/wheels/*.whl; do [ ! -e "$$wheel" ] || cp "$$wheel" dist/; done

packages: ## dist/: packages for Debian 12 and 13, controller and node; ARGS="--debian 12 --twice flex-node"; takes a cargo
	$(SETUP) dev
	@nice $(BIN)/python -m deploy.packages $(ARGS)

upgrades: ## packages of several versions installed, upgraded, refused and purged in a minimal Debian; as root; ARGS="12 13"
	$(SETUP) dev fresh
	@$(BIN)/python -m deploy.packages.upgrades $(ARGS)

native: ## build the hot loops in Rust again, also after a failure
	@rm -f .venv/stamps/native
	$(SETUP) run native

bench: ## measure: NAME=... of one bench, or all of them; figures go to bench/results/
	$(SETUP) dev native
	@$(BIN)/python -m bench $(NAME)

docs: ## these pages as a site with search, in build/docs; ARGS goes to sphinx-build
	$(SETUP) docs
	@nice .cache/docs/bin/sphinx-build -W --keep-going -q -b html -d .cache/doctrees $(ARGS) docs build/docs
	@echo "open build/docs/index.html"

# Starting from the pins of dev.txt, the others come out with the same versions.
lock: ## bring the lock files in step with the .in files; ARGS=--upgrade takes the newest of everything
	$(SETUP) dev
	@cd requirements && ../$(LOCK) dev.in -o dev.txt
	@cd requirements && for name in run node build spark docs; do cp dev.txt $$name.txt && ../$(LOCK) $$name.in -o $$name.txt; done

clean: ## take away what make made, the environment too
	rm -rf .venv .cache build dist native/target bench/results .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
