# What people, hooks and CI run. `make help` lists the targets.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
EVERGROVE ?= $(TARGET)/release/evergrove
BENCH ?= $(TARGET)/release/evergrove-bench
FUZZ_MINUTES ?= 1
# Features of the crates that the tests need besides the default ones, as arguments of cargo. Every test group uses the same
# list, so that cargo builds once.
TEST_FEATURES ?= --features evergrove-cli/full,evergrove-cli/plonky2
# The benchmarks and their peers are a workspace of their own, with the same target directory.
BENCH_WORKSPACE := --manifest-path crates/bench/Cargo.toml --target-dir $(TARGET)

export CARGO TEST_FEATURES BENCH_WORKSPACE

.DEFAULT_GOAL := help
.PHONY: help demo install cluster-demo tools rtl-tools synth arm-tools web-tools eth-tools web page page-shots test test-isa test-peers test-rtl test-faults test-slow test-apps test-web test-c test-eth header test-full check fmt clippy rustdoc api api-bless deny typos prose book deploy deploy-tools fuzz bench bench-apps bench-native docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## commit a real table, prove a batch, change rows, refresh, verify (release build)
	$(CARGO) build --release --locked --package evergrove-cli
	scripts/demo.sh $(EVERGROVE)

install: ## install the evergrove command with every feature
	$(CARGO) install --locked --path crates/cli --features full

cluster-demo: export EVERGROVE_REQUIRE_TEST = 1
cluster-demo: tools ## prove with two workers, a real Redis server and a real S3 API; one worker is killed (release build)
	$(CARGO) build --release --locked --package evergrove-cli --features cloud
	scripts/cluster-demo.sh $(EVERGROVE)

tools: ## a Redis server and an S3 API for tests and demos, under target/tools
	scripts/tools.sh

rtl-tools: ## the simulator and the synthesiser of rtl/, under target/tools
	scripts/rtl-tools.sh

synth: ## what the modules of rtl/ cost, by Yosys: crates/lab/data/synth.json
	scripts/synth.sh

arm-tools: ## compilers and an emulator for aarch64, under target/tools
	scripts/arm-tools.sh

web-tools: ## a compiler for WebAssembly and a browser, under target/tools
	scripts/web-tools.sh

eth-tools: ## a compiler for Solidity, OpenZeppelin's contracts and an EVM, under target/tools
	scripts/eth-tools.sh

web: ## the verifier for browsers and Node.js and the page that uses it, under target/web; the page of the service, crates/serve/page
	scripts/build-web.sh
	scripts/build-page.sh

page: ## whether the committed files of the service's page are those of its sources
	scripts/build-page.sh --check

page-shots: ## the pictures of the service's page in docs/images, of a real service (debug build, Chromium)
	scripts/web-tools.sh chromium
	$(CARGO) build --locked --package evergrove-cli --features serve
	. $(TARGET)/tools/web/chromium/env && EVERGROVE=$(TARGET)/debug/evergrove node web/test/shots.mjs

# Attacks on constraints catch thousands of panics, and the backtraces take time and fill the log.
test: export RUST_BACKTRACE = 0
test: tools ## the tests that every change passes: Rust and Redis (what CI runs)
	$(CARGO) fetch --locked
	$(CARGO) test --workspace --locked $(TEST_FEATURES) $(TEST_FLAGS)

test-isa: ## kernels and provers on every instruction set of this CPU, and kernels for aarch64 in an emulator
	scripts/test-groups.sh isa

test-peers: ## kernels and openings beside those of other projects
	scripts/test-groups.sh peers

test-rtl: ## rtl/ beside the models and the kernels, in a simulator; its costs beside its sources
	scripts/test-groups.sh rtl

test-faults: ## killed processes: clusters on Redis, and the store
	scripts/test-groups.sh faults

test-slow: ## the long tests: large circuits and many proofs
	scripts/test-groups.sh slow

test-apps: ## the long tests of applications, and a crate with an application of its own
	scripts/test-groups.sh apps

test-web: ## the verifier for browsers, in Node.js and in Chromium; the page of the service
	scripts/test-groups.sh web

test-c: ## the C library: header, example, sanitizers, valgrind
	scripts/test-groups.sh c

test-eth: ## rows of a table in a contract, tries and their circuits with the data of EVERGROVE_TESTDATA
	scripts/test-groups.sh eth

header: ## write the C header, crates/ffi/include/evergrove.h
	scripts/header.sh

test-full: ## make test and every group, with a table at the end
	scripts/test-groups.sh test isa peers rtl faults slow apps web c eth

check: fmt clippy rustdoc api deny typos prose book deploy page fuzz ## formatting, lints, documentation, public API, dependencies, spelling, prose, deployment, the page's files, a bounded fuzz run

fmt:
	$(CARGO) fmt --all --check
	$(CARGO) fmt --check --manifest-path crates/bench/Cargo.toml

clippy:
	$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings
	$(CARGO) clippy --workspace --all-targets --no-default-features --features evergrove-cli/local --locked -- -D warnings
	$(CARGO) clippy --package evergrove --package evergrove-serve --all-targets --no-default-features --locked -- -D warnings
	$(CARGO) clippy --package evergrove --all-targets --no-default-features --features grove --locked -- -D warnings
	$(CARGO) clippy $(BENCH_WORKSPACE) --all-targets --locked -- -D warnings

rustdoc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(BENCH_WORKSPACE) --no-deps --locked

# rustdoc's JSON is unstable, hence RUSTC_BOOTSTRAP. `make api-bless` accepts a changed listing.
API = RUSTC_BOOTSTRAP=1 RUSTUP_TOOLCHAIN=$(or $(RUSTUP_TOOLCHAIN),stable) $(CARGO) public-api --package evergrove -sss
API_FILE := crates/evergrove/public-api.txt

api: ## the public API of the facade beside its listing
	@if $(CARGO) public-api --version >/dev/null 2>&1; then \
	  $(API) | diff $(API_FILE) - && echo "$(API_FILE) is up to date"; \
	else echo "skipped: cargo-public-api is not installed (cargo install --locked cargo-public-api)"; fi

api-bless: ## write the listing of the public API
	$(API) >$(API_FILE)

deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	  $(CARGO) deny check bans licenses sources \
	  && $(CARGO) deny --manifest-path crates/bench/Cargo.toml check --config $(CURDIR)/deny.toml bans licenses sources; \
	else echo "skipped: cargo-deny is not installed (cargo install --locked cargo-deny)"; fi

typos:
	@if command -v typos >/dev/null; then typos; \
	else echo "skipped: typos is not installed (cargo install --locked typos-cli)"; fi

prose: ## phrases to replace in README and docs/, with what to write instead
	scripts/prose.sh

book:
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped: mdbook is not installed (cargo install --locked mdbook)"; fi

deploy:
	scripts/check-deploy.sh

deploy-tools: ## fetch what checks deploy/: helm, hadolint, schemas, promtool (into target/tools)
	scripts/deploy-tools.sh

fuzz: ## damaged bytes in everything that reads bytes: once built, a minute on two cores, or FUZZ_MINUTES=60
	scripts/fuzz.sh $(FUZZ_MINUTES)

bench: ## the end-to-end figures, one JSON object a line, each profile in a process of its own
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	$(BENCH) reckle --log-size 27 --batch-log 12 --json

bench-apps: ## the applications, and the paper's Fig. 12 from their rows
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	scripts/bench-apps.sh $(BENCH)

bench-native: ## all kernels on every instruction set, with default flags and in a build for this CPU, beside their peers
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	RUSTFLAGS="-C target-cpu=native" $(CARGO) build --release --locked --manifest-path crates/bench/Cargo.toml --target-dir $(TARGET)/native
	$(BENCH) machine --beside native=$(TARGET)/native/release/evergrove-bench

docs: ## the book (docs/book) and the API documentation (target/doc)
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped the book: mdbook is not installed (cargo install --locked mdbook); read docs/SUMMARY.md instead"; fi
	$(CARGO) doc --workspace --no-deps --locked
	$(CARGO) doc $(BENCH_WORKSPACE) --no-deps --locked
