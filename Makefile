# Thin: what to build and run is in CMakeLists.txt and scripts/.
BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
TEST_JOBS ?= 2
CMAKE_FLAGS ?=
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja --log-level=WARNING $(CMAKE_FLAGS)
BIN = $(abspath $(BUILD))/bin

.PHONY: all build demo test bench install clean

all: build

build:
	@bash scripts/setup build
	@$(CONFIGURE) -DAX_CHECKS=OFF
	@ninja -C $(BUILD) -j $(JOBS)

demo: build
	@AX_BIN_DIR=$(BIN) bash scripts/demo

# One ctest over the release build, libFuzzer, ASan+UBSan and TSan (AX_CHECKS), so that its closing line counts all.
test:
	@bash scripts/setup test
	@$(CONFIGURE) -DAX_CHECKS=ON
	@ninja -C $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) -j $(TEST_JOBS) --output-on-failure --no-tests=error --no-label-summary

bench:
	@bash scripts/setup test
	@$(CONFIGURE) -DAX_CHECKS=OFF
	@ninja -C $(BUILD) -j $(JOBS) all bench
	@AX_BIN_DIR=$(BIN) bash scripts/bench

install: build
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD)
