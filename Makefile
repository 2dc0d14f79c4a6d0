# The one entry point for everything a developer does: `make help` lists it.
PRESET  ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc)
export JOBS

# Progress on a terminal; in a pipe one line a test.
ctest = ctest --preset $(1) $(if $(MAKE_TERMOUT),--progress) --no-tests=error

.DEFAULT_GOAL := help
.PHONY: help setup build test lab lab-test lab-ci unit tidy demo bench bench-lab experiment programs upstream stress model mutants faults asan tsan install format lint clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "Settings: PRESET=$(PRESET) (release, debug, asan, tsan)  PREFIX=$(PREFIX)  DESTDIR=$(DESTDIR)  JOBS=$(JOBS)"

setup: ## install what is needed: Debian packages, and oneTBB's headers into .venv
	@scripts/setup

build: setup ## build everything into build/$(PRESET)
	@scripts/build $(PRESET)

test: build ## unit, model (a sample), stress (short), compat, tools, tidy and packaging tests
	@$(call ctest,$(PRESET)) -LE '^lab$$'

lab: ## virtual NUMA machines: install QEMU, build the command and what goes into the guest
	@scripts/setup build lab
	@scripts/build $(PRESET) tbb homing_cli homing_lab_init homing_lab

lab-test: build ## tests in virtual NUMA machines
	@scripts/setup lab lab-test
	@$(call ctest,$(PRESET)) -L '^lab$$'

lab-ci: build ## those of them that CI runs: under ten minutes
	@scripts/setup lab
	@$(call ctest,$(PRESET)) -L '^lab-ci$$'

unit: build ## unit tests only
	@$(call ctest,$(PRESET)) -L unit

tidy: build ## the rules about the tree: layers, labels, symbols, headers, words, sentences, links
	@$(call ctest,$(PRESET)) -L tidy

demo: ## real programs on stock oneTBB and on ours, compared, and one on a virtual NUMA machine
	@scripts/setup build demo lab
	@scripts/build release tbb homing_cli homing_lab_init homing_lab vector_update
	@demo/run $(ARGS)

bench: build ## the same binary on stock oneTBB and on ours: ratios (ARGS=--quick for a short one)
	@bench/run.py $(ARGS)

bench-lab: build lab ## the same in virtual NUMA machines, on the model's clock (ARGS=--quick: few cases, one boot of each)
	@bench/lab.py $(ARGS)

experiment: build ## tests of `homing experiment`: published worked examples, a campaign here, a sample of each in the lab
	@scripts/setup experiment lab
	@$(call ctest,$(PRESET)) -L '^experiment$$'

programs: ## the papers' programs: build them, and check every variant at the first size, on stock oneTBB as well
	@scripts/setup build
	@scripts/build $(PRESET) programs
	@$(call ctest,$(PRESET)) -L '^programs$$'

upstream: build ## oneTBB's own tests on our library, on four machines (ARGS="--set ci" for the short set)
	@tests/upstream/run.py $(ARGS)

stress: build ## an hour of stress (ARGS="--seconds 300 --seed N" for another length and seed)
	@tests/stress/run --preset $(PRESET) $(ARGS)

model: build ## every execution of concurrent classes, to the models' full bounds
	@tests/model/run build/$(PRESET) $(ARGS)

mutants: build ## each memory order weakened, each fence dropped: a model must fail (ARGS="--only mailbox --json FILE")
	@tests/model/mutate.py --build build/$(PRESET) $(ARGS)

faults: build ## each call fails in turn, in programs that use everything (ARGS="--seconds 600 --seed N")
	@tests/faults/run.py --build build/$(PRESET) $(ARGS)

asan: setup ## unit and stress tests under AddressSanitizer and UBSan
	@scripts/build asan
	@$(call ctest,asan) -L 'unit|stress|compat'

tsan: setup ## unit and stress tests under ThreadSanitizer
	@scripts/build tsan
	@$(call ctest,tsan) -L 'unit|stress|compat'

install: build ## install into DESTDIR/PREFIX; the tree may be moved afterwards
	@DESTDIR="$(DESTDIR)" cmake --install build/$(PRESET) --prefix "$(PREFIX)" $(if $(MAKE_TERMOUT),,>/dev/null)
	@echo "installed in $(DESTDIR)$(PREFIX)"

format: ## clang-format over all C++ files
	@scripts/setup develop
	@git ls-files '*.cpp' '*.hpp' | xargs -r clang-format-16 -i

lint: ## clang-format and clang-tidy, without changing anything
	@scripts/setup build develop
	@scripts/build $(PRESET)
	@git ls-files '*.cpp' '*.hpp' | xargs -r clang-format-16 --dry-run --Werror
	@git ls-files 'src/*.cpp' 'cli/*.cpp' | xargs -r -P $(JOBS) -n 4 clang-tidy-16 -p build/$(PRESET) --quiet

clean: ## remove build/ (.venv stays)
	@rm -rf build
