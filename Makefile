# What people, hooks and CI run. `make help` lists the targets.

CARGO ?= cargo
EVERGROVE ?= target/release/evergrove
BENCH ?= target/release/evergrove-bench
FUZZ_CASES ?= 20000

.DEFAULT_GOAL := help
.PHONY: help demo cluster-demo tools test rtl-tools test-all check fmt clippy rustdoc deny typos book deploy deploy-tools fuzz bench bench-apps bench-native docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## commit a real table, prove a batch, change rows, refresh, verify (release build)
	$(CARGO) build --release --locked --package evergrove-cli
	scripts/demo.sh $(EVERGROVE)

cluster-demo: tools ## prove with two workers, a real Redis server and a real S3 API; one worker is killed (release build)
	$(CARGO) build --release --locked --package evergrove-cli
	scripts/cluster-demo.sh $(EVERGROVE)

tools: ## a Redis server and an S3 API for tests and demos, under target/tools
	scripts/tools.sh

test: export EVERGROVE_REQUIRE_TOOLS = 1
test: tools ## fetch what the tests need and run them
	$(CARGO) fetch --locked
	$(CARGO) test --workspace --locked

rtl-tools: ## fetch the simulator of rtl/ into target/tools
	scripts/rtl-tools.sh

test-all: export EVERGROVE_REQUIRE_TOOLS = 1
test-all: tools rtl-tools ## the long tests too: every test, rtl/ beside the models, and killed processes against the store
	$(CARGO) fetch --locked
	$(CARGO) test --workspace --locked -- --include-ignored
	EVERGROVE_REQUIRE_TOOLS=1 $(CARGO) test --package evergrove-lab --features rtl --test rtl --locked
	$(CARGO) build --locked --package evergrove-cli
	scripts/crash.sh target/debug/evergrove

check: fmt clippy rustdoc deny typos book deploy fuzz ## formatting, lints, documentation, dependencies, spelling, deployment, a bounded fuzz run

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings
	$(CARGO) clippy --workspace --all-targets --no-default-features --locked -- -D warnings

rustdoc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked

deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
	  $(CARGO) deny check bans licenses sources; \
	else echo "skipped: cargo-deny is not installed (cargo install --locked cargo-deny)"; fi

typos:
	@if command -v typos >/dev/null; then typos; \
	else echo "skipped: typos is not installed (cargo install --locked typos-cli)"; fi

book:
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped: mdbook is not installed (cargo install --locked mdbook)"; fi

deploy:
	scripts/check-deploy.sh

deploy-tools: ## fetch what checks deploy/: helm, hadolint, schemas (into target/tools)
	scripts/deploy-tools.sh

fuzz:
	PROPTEST_CASES=$(FUZZ_CASES) $(CARGO) test --workspace --locked --test mutation

bench: ## the end-to-end figures, one JSON object a line, each profile in a process of its own
	$(CARGO) build --release --locked --package evergrove-bench
	$(BENCH) reckle --log-size 27 --batch-log 12 --json

bench-apps: ## the applications, and the paper's Fig. 12 from their rows
	$(CARGO) build --release --locked --package evergrove-bench
	scripts/bench-apps.sh $(BENCH)

bench-native: ## the kernels with default flags beside a build for this CPU, in turns (builds in target/native)
	$(CARGO) build --release --locked --package evergrove-bench
	RUSTFLAGS="-C target-cpu=native" $(CARGO) build --release --locked --package evergrove-bench --target-dir target/native
	scripts/bench-native.sh $(BENCH) target/native/release/evergrove-bench

docs: ## the book (docs/book) and the API documentation (target/doc)
	@if command -v mdbook >/dev/null; then mdbook build docs; \
	else echo "skipped the book: mdbook is not installed (cargo install --locked mdbook); read docs/SUMMARY.md instead"; fi
	$(CARGO) doc --workspace --no-deps --locked
