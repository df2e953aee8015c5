# Thin: what to build and run is in CMakeLists.txt and scripts/.
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TEST_JOBS ?= 3
CMAKE_FLAGS ?=
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja --log-level=WARNING $(CMAKE_FLAGS)
BIN = $(abspath $(BUILD))/bin

.PHONY: all build demo test format chaos collapse soak model bench tenants install clean

all: build

build:
	@bash scripts/setup build
	@$(CONFIGURE) -DAX_CHECKS=OFF
	@ninja -C $(BUILD) -j $(JOBS)

demo: build
	@AX_BIN_DIR=$(BIN) bash scripts/demo

# One ctest over the release build, libFuzzer, ASan+UBSan and TSan (AX_CHECKS), so that its closing
# line counts all.
test:
	@bash scripts/setup test
	@$(CONFIGURE) -DAX_CHECKS=ON
	@ninja -C $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -j $(TEST_JOBS) --output-on-failure --no-tests=error --no-label-summary

# Lays out the C files; the test house.format checks it.
format:
	@bash scripts/setup test
	@bash scripts/format

# make chaos SECONDS=600 SERVERS=3 SEED=17
chaos: build
	@bash scripts/setup test
	@AX_BIN_DIR=$(BIN) CHAOS_SECONDS=$(or $(SECONDS),60) bash scripts/chaos

# All models of the order of steps, with wider bounds than in `make test`; minutes and gigabytes.
model:
	@bash scripts/setup test
	@mkdir -p $(BUILD)
	@cd $(BUILD) && bash $(CURDIR)/scripts/run-test $(CURDIR)/tests/model/check.py --long

# A database behind many workers, with a fixed and with an adaptive rate: a table and
# build/collapse.svg.
collapse: build
	@bash scripts/setup test
	@AX_BIN_DIR=$(BIN) bash scripts/run-test tests/bench/collapse.py --svg $(BUILD)/collapse.svg

# make soak SECONDS=3600
soak: build
	@bash scripts/setup test
	@AX_BIN_DIR=$(BIN) SOAK_SECONDS=$(or $(SECONDS),180) bash scripts/run-test tests/soak/soak.py

bench:
	@bash scripts/setup test
	@$(CONFIGURE) -DAX_CHECKS=OFF
	@ninja -C $(BUILD) -j $(JOBS) all bench
	@AX_BIN_DIR=$(BIN) bash scripts/bench

# make tenants TASKS=100000
tenants: build
	@bash scripts/setup test
	@AX_BIN_DIR=$(BIN) bash scripts/run-test tests/bench/tenants.py --tasks $(or $(TASKS),100000)
	@AX_BIN_DIR=$(BIN) AX_GROUP_TASKS=1000 bash scripts/run-test tests/system/test_group_limits.py
	@AX_BIN_DIR=$(BIN) AX_GROUP_TASKS=1250 bash scripts/run-test tests/system/test_group_ordered.py

install: build
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD)
