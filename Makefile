# The commands of people, hooks and CI. `make help` lists the targets.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
EVERGROVE ?= $(TARGET)/release/evergrove
BENCH ?= $(TARGET)/release/evergrove-bench
FUZZ_MINUTES ?= 1
# Features that the tests need in addition to the default ones, as arguments of cargo. All test groups use the same list, so
# that cargo builds once.
TEST_FEATURES ?= --features evergrove-cli/full,evergrove-cli/plonky2
# The benchmarks and their peers are a separate workspace with the same target directory.
BENCH_WORKSPACE := --manifest-path crates/bench/Cargo.toml --target-dir $(TARGET)

export CARGO TEST_FEATURES BENCH_WORKSPACE

.DEFAULT_GOAL := help
.PHONY: help demo install cluster-demo service-drills tools rtl-tools synth arm-tools web-tools eth-tools smt-tools web page page-shots test test-isa test-peers test-rtl test-faults test-slow test-apps test-web test-c test-eth test-smt test-checks header test-full check fmt clippy rustdoc api api-bless deny typos prose book deploy deploy-tools fuzz bench bench-apps bench-native docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## commit a real table, prove a batch, change rows, refresh, verify (release build)
	$(CARGO) build --release --locked --package evergrove-cli
	scripts/demo.sh $(EVERGROVE)

install: ## install the evergrove command with all features except plonky2
	$(CARGO) install --locked --path crates/cli --features full

cluster-demo: export EVERGROVE_REQUIRE_TEST = 1
cluster-demo: tools ## prove with two workers, a real Redis server and a real S3 API; one worker is killed (release build)
	$(CARGO) build --release --locked --package evergrove-cli --features cloud
	scripts/cluster-demo.sh $(EVERGROVE)

service-drills: tools ## drill the service with real proofs: load, kill -9 and repeated requests, start, backup and restore of a large store, a full disk (as root), the commands of deploy/compose.yaml (release build)
	$(CARGO) build --release --locked --package evergrove-cli --features full
	scripts/serve_drill.py --evergrove $(EVERGROVE) storm
	scripts/serve_drill.py --evergrove $(EVERGROVE) start --gib 0.25
	scripts/serve_drill.py --evergrove $(EVERGROVE) operate
	scripts/serve_drill.py --evergrove $(EVERGROVE) load
	[ "$$(id -u)" != 0 ] || scripts/serve_drill.py --evergrove $(EVERGROVE) disk

tools: ## fetch a Redis server and an S3 API for tests and demos (into target/tools)
	scripts/tools.sh

rtl-tools: ## fetch the simulator and the synthesiser of crates/lab/rtl (into target/tools)
	scripts/rtl-tools.sh

synth: ## write the costs of the modules of crates/lab/rtl, from Yosys, to crates/lab/data/synth.json
	scripts/synth.sh

arm-tools: ## fetch compilers and an emulator for aarch64 (into target/tools)
	scripts/arm-tools.sh

web-tools: ## fetch a compiler for WebAssembly and a browser (into target/tools)
	scripts/web-tools.sh

eth-tools: ## fetch a compiler for Solidity, OpenZeppelin's contracts and an EVM (into target/tools)
	scripts/eth-tools.sh

smt-tools: ## fetch a solver for equations over finite fields (into target/tools)
	scripts/smt-tools.sh

web: ## build the verifier for browsers and Node.js, with its page (into target/web), and the service's page (into crates/serve/page)
	scripts/build-web.sh
	scripts/build-page.sh

page: ## check that the committed files of the service's page match its sources
	scripts/build-page.sh --check

page-shots: ## make the pictures of the service's page in docs/images, with a real service (debug build, Chromium)
	scripts/web-tools.sh chromium
	$(CARGO) build --locked --package evergrove-cli --features serve
	. $(TARGET)/tools/web/chromium/env && EVERGROVE=$(TARGET)/debug/evergrove node web/test/shots.mjs

# Tests that attack constraints catch thousands of panics, and backtraces take time and fill the log.
test: export RUST_BACKTRACE = 0
test: tools ## run the tests that every change must pass, as CI does
	$(CARGO) fetch --locked
	$(CARGO) test --workspace --locked $(TEST_FEATURES) $(TEST_FLAGS)

test-isa: ## test kernels and provers on every instruction set of this CPU, and kernels for aarch64 in an emulator
	scripts/test-groups.sh isa

test-peers: ## compare kernels and openings with those of other projects
	scripts/test-groups.sh peers

test-rtl: ## compare rtl/ in a simulator with the models and the kernels, and its costs with its sources
	scripts/test-groups.sh rtl

test-faults: ## test killed processes: clusters on Redis, and the store
	scripts/test-groups.sh faults

test-slow: ## run the long tests: large circuits and many proofs
	scripts/test-groups.sh slow

test-apps: ## run the long tests of applications, and test a separate crate with its own application
	scripts/test-groups.sh apps

test-web: ## test the verifier for browsers in Node.js and in Chromium, and the page of the service
	scripts/test-groups.sh web

test-c: ## test the C library: header, example, sanitizers, valgrind
	scripts/test-groups.sh c

test-eth: ## test a table's rows in a contract, and tries and their circuits with the data of EVERGROVE_TESTDATA
	scripts/test-groups.sh eth

test-smt: ## prove the gates of the circuits with a solver, count the constraints that are needed, and compare with docs/math/gates.md
	scripts/test-groups.sh smt

test-checks: ## leave out each check of the verifier in turn: a test must fail
	scripts/test-groups.sh checks

header: ## write the C header, crates/ffi/include/evergrove.h
	scripts/header.sh

test-full: ## run make test and all groups, with a table at the end
	scripts/test-groups.sh test isa peers rtl faults slow apps web c eth smt checks

check: fmt clippy rustdoc api deny typos prose book deploy page fuzz ## check formatting, lints, documentation, public API, dependencies, spelling, prose, deployment and the page's files; fuzz briefly

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

# RUSTC_BOOTSTRAP is for rustdoc's JSON, which is unstable. `make api-bless` accepts a changed listing.
API = RUSTC_BOOTSTRAP=1 RUSTUP_TOOLCHAIN=$(or $(RUSTUP_TOOLCHAIN),stable) $(CARGO) public-api --package evergrove -sss
API_FILE := crates/evergrove/public-api.txt

api: ## compare the public API of the facade with its listing
	@if $(CARGO) public-api --version >/dev/null 2>&1; then \
	  $(API) | diff $(API_FILE) - && echo "$(API_FILE) is up to date"; \
	else echo "skipped: cargo-public-api is not installed (cargo install --locked cargo-public-api)"; fi

api-bless: ## write the listing of the public API
	$(API) >$(API_FILE).new || { rm $(API_FILE).new; exit 1; }
	mv $(API_FILE).new $(API_FILE)

deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	  $(CARGO) deny check bans licenses sources \
	  && $(CARGO) deny --manifest-path crates/bench/Cargo.toml --config $(CURDIR)/deny.toml check bans licenses sources; \
	else echo "skipped: cargo-deny is not installed (cargo install --locked cargo-deny)"; fi

typos:
	@if command -v typos >/dev/null; then typos; \
	else echo "skipped: typos is not installed (cargo install --locked typos-cli)"; fi

prose: ## find phrases to replace in README, other root pages and docs/, with what to write instead
	scripts/prose.sh

book:
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped: mdbook is not installed (cargo install --locked mdbook)"; fi

deploy:
	scripts/check-deploy.sh

deploy-tools: ## fetch the tools that check deploy/: helm, hadolint, schemas, promtool (into target/tools)
	scripts/deploy-tools.sh

fuzz: ## test all code that reads bytes with damaged bytes, for FUZZ_MINUTES (default 1) on two cores after the build
	scripts/fuzz.sh $(FUZZ_MINUTES)

bench: ## measure the end-to-end figures: one JSON object per line, each profile in a separate process
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	$(BENCH) reckle --log-size 27 --batch-log 12 --json

bench-apps: ## measure the applications, and draw the paper's Fig. 12 from their rows
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	scripts/bench-apps.sh $(BENCH)

bench-native: ## compare all kernels on every instruction set with their peers, with default flags and built for this CPU
	$(CARGO) build $(BENCH_WORKSPACE) --release --locked
	RUSTFLAGS="-C target-cpu=native" $(CARGO) build --release --locked --manifest-path crates/bench/Cargo.toml --target-dir $(TARGET)/native
	$(BENCH) machine --beside native=$(TARGET)/native/release/evergrove-bench

docs: ## build the book (docs/book) and the API documentation (target/doc)
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped the book: mdbook is not installed (cargo install --locked mdbook); read docs/SUMMARY.md instead"; fi
	$(CARGO) doc --workspace --no-deps --locked
	$(CARGO) doc $(BENCH_WORKSPACE) --no-deps --locked
