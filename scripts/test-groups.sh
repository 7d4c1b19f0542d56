#!/usr/bin/env bash
# Runs groups of tests and ends with a table: group, passed, failed, skipped, seconds. Exits with 1 if anything failed.
#
#   scripts/test-groups.sh [test] [isa] [peers] [rtl] [faults] [slow] [apps] [web] [c] [eth] [smt] [checks]     all of them if none is named
#
# The group `test` is `make test`. Tests of other groups are ignored by cargo, with a reason that begins with the group:
# #[ignore = "slow: minutes, some hundred proofs"]. This script finds them by that line and the test's name below it.
#
# For a missing tool the script prints one line, 'not tested: ..', and counts it as skipped. With
# EVERGROVE_REQUIRE_<GROUP> set, it is a failure.
#
# CARGO, TEST_FEATURES and BENCH_WORKSPACE come from the Makefile.
set -uo pipefail

cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
# Tests that attack constraints catch thousands of panics, and backtraces take time and fill the log.
export RUST_BACKTRACE=0
target=${CARGO_TARGET_DIR:-target}
read -r -a features <<<"${TEST_FEATURES:-}"
read -r -a bench <<<"${BENCH_WORKSPACE:---manifest-path crates/bench/Cargo.toml --target-dir $target}"
[[ $# -gt 0 ]] || set -- test isa peers rtl faults slow apps web c eth smt checks
log=$(mktemp)
trap 'rm -f "$log" "$log.node"' EXIT

# Runs a command and appends its output to the log. A failed command without a failed test counts as one failure.
run() {
    local before status
    before=$(failures)
    "$@" 2>&1 | tee -a "$log"
    status=${PIPESTATUS[0]}
    if [[ $status -ne 0 && $(failures) -eq $before ]]; then
        echo "failed: $* (exit status $status)" | tee -a "$log"
    fi
    return "$status"
}

# The sum of a column of the lines `test result: ok. 3 passed; 0 failed; 1 ignored; ..`.
sum() { awk -v what="$1" '/^test result: / { for (i = 2; i <= NF; i++) if ($i ~ "^" what) n += $(i - 1) } END { print n + 0 }' "$log"; }

failures() { echo $(($(sum failed) + $(grep -c '^failed: ' "$log"))); }

# True if a missing tool of the group is a failure.
required() {
    local name=EVERGROVE_REQUIRE_${1^^}
    [[ -n ${!name:-} ]]
}

# Reports that the group or a part of it is not tested, and why.
skip() {
    echo "not tested: $1: $2" | tee -a "$log"
    if required "$1"; then echo "failed: EVERGROVE_REQUIRE_${1^^} is set" | tee -a "$log"; fi
}

# Lists the ignored tests of a group: file and name.
ignored() {
    find crates -name '*.rs' -not -path 'crates/bench/*' -exec awk -v group="$1" '
        index($0, "#[ignore = \"" group ": ") { wanted = 1; next }
        wanted && match($0, /fn [a-z0-9_]+/) { print FILENAME, substr($0, RSTART + 3, RLENGTH - 3); wanted = 0 }' {} +
}

# Runs the ignored tests of a group. Builds only the test programs that have such tests, as in `make test`.
run_ignored() {
    local names targets
    mapfile -t names < <(ignored "$1" | cut -d ' ' -f 2 | sort -u)
    [[ ${#names[@]} -gt 0 ]] || { echo "failed: no test is in the group $1" | tee -a "$log"; return; }
    mapfile -t targets < <(ignored "$1" | sed -E 's|^crates/[^/]+/tests/([^/. ]+).*|--test=\1|; t; s|.*|--lib\n--bins|' | sort -u)
    run "$cargo" test --workspace --locked ${features[@]+"${features[@]}"} --no-fail-fast "${targets[@]}" -- \
        --ignored "${names[@]}"
}

group_test() { run make --no-print-directory test TEST_FLAGS=--no-fail-fast; }

# The instruction sets of this CPU, with the crates' names, from the flags in /proc/cpuinfo.
instruction_sets() {
    echo portable
    [[ $(uname -m) == x86_64 ]] || return 0
    local flags
    flags=" $(sed -n '/^flags/ { s/.*: //p; q }' /proc/cpuinfo 2>/dev/null) "
    [[ $flags == *" avx2 "* && $flags == *" fma "* ]] || return 0
    echo avx2
    [[ $flags == *" avx512f "* && $flags == *" f16c "* ]] || return 0
    echo avx512
    [[ $flags == *" avx512ifma "* ]] || return 0
    echo avx512ifma
}

# Runs the suites of kernels and provers on every instruction set of this CPU. EVERGROVE_ISA replaces the best one. A
# test of each suite asserts this; an instruction set without these five tests is a failure.
forced() {
    local isa before suites=(--test primitives --test curves --test kernels --test multilinear --test plonky2)
    local seen='^test forced::kernels_are_given_the_instruction_set_that_is_named ... ok'
    for isa in $(instruction_sets); do
        echo "-- the suites on $isa --"
        before=$(grep -c "$seen" "$log")
        # The same programs as in `make test`.
        EVERGROVE_ISA=$isa run "$cargo" test --workspace --locked ${features[@]+"${features[@]}"} --no-fail-fast "${suites[@]}"
        if [[ $(($(grep -c "$seen" "$log") - before)) -ne 5 ]]; then
            echo "failed: a suite did not run on $isa, which this CPU has" | tee -a "$log"
        fi
    done
}

# Tests for aarch64 in an emulator: all of the kernels and the formats, and some of the engine of `grove`, whose other
# tests take minutes there. They cover the known answers, an opening compared with the reference, and a verified proof.
arm_engine=(poseidon:: count:: forced:: keccak::digests_are_those_of_the_reference proof::openings
    keccak::a_proof_is_accepted_and_one_of_another_round_refused)
arm() {
    local reason
    if ! reason=$(scripts/arm-tools.sh 2>&1); then
        skip isa "aarch64: $(tail -n 1 <<<"$reason")"
        return
    fi
    # In a subshell, since the variables apply only to this target.
    (
        # shellcheck disable=SC1091
        source "$target/tools/arm/env"
        export CARGO_TARGET_DIR=$target/arm
        run "$cargo" test --locked --no-fail-fast --lib --test primitives --test curves --test kernels --test verifier \
            -p evergrove-primitives -p evergrove-curves -p evergrove-kernels -p evergrove-verifier
        run "$cargo" test --locked --no-fail-fast -p evergrove-multilinear --test multilinear -- "${arm_engine[@]}"
    )
}

group_isa() {
    run_ignored isa
    # Fields, hashes and lanes on many random inputs.
    local long=(--workspace --locked --no-fail-fast ${features[@]+"${features[@]}"})
    long+=(--features evergrove-primitives/long-builds,evergrove-kernels/long-builds)
    PROPTEST_CASES=20000 run "$cargo" test "${long[@]}" --test primitives
    run "$cargo" test "${long[@]}" --test kernels
    forced
    arm
}

# Compares the kernels and the openings with those of other projects, in the benchmarks' workspace.
group_peers() { run "$cargo" test "${bench[@]}" --locked --no-fail-fast; }

group_rtl() {
    local reason
    command -v c++ >/dev/null || command -v g++ >/dev/null || { skip rtl "no C++ compiler"; return; }
    if ! reason=$(scripts/rtl-tools.sh verilator 2>&1) && ! command -v verilator >/dev/null; then
        skip rtl "verilator could not be fetched: $(tail -n 1 <<<"$reason")"
        return
    fi
    EVERGROVE_REQUIRE_RTL=1 EVERGROVE_CASES=${EVERGROVE_CASES:-100000} \
        run "$cargo" test --package evergrove-lab --features rtl --test rtl --locked
    # Compares the modules' costs with the sources.
    run scripts/synth.sh --check
}

group_faults() {
    # Each test reports a missing server itself.
    if required faults; then export EVERGROVE_REQUIRE_TEST=1; fi
    run scripts/tools.sh
    run_ignored faults
    run "$cargo" build --workspace --locked ${features[@]+"${features[@]}"} --bins
    local backend rounds
    for backend in native:100 grove:12; do
        IFS=: read -r backend rounds <<<"$backend"
        if CRASH_BACKEND=$backend CRASH_ROUNDS=$rounds run scripts/crash.sh "$target/debug/evergrove"; then
            echo "test result: ok. 1 passed;" >>"$log"
        fi
    done
}

group_slow() { run_ignored slow; }

group_apps() {
    run_ignored apps
    # An application in a crate outside the repository.
    if run scripts/own-application.sh "$target"; then
        echo "test result: ok. 1 passed;" >>"$log"
    fi
}

# Runs tests of Node.js and counts them like cargo's.
node_tests() {
    local status
    node --test --test-reporter=tap "$@" 2>&1 | tee "$log.node"
    status=${PIPESTATUS[0]}
    awk '/^# (pass|fail|cancelled) / { n[$2] = $3 } END { print "test result: " n["pass"] + 0 " passed; " n["fail"] + n["cancelled"] + 0 " failed;" }' \
        "$log.node" >>"$log"
    if [[ $status -ne 0 ]] && ! grep -q '^# fail [1-9]' "$log.node"; then
        echo "failed: node --test $* (exit status $status)" | tee -a "$log"
    fi
}

group_web() {
    local reason program
    for program in node npm; do
        command -v "$program" >/dev/null || { skip web "$program is missing"; return; }
    done
    if ! reason=$(scripts/web-tools.sh rust 2>&1); then
        skip web "$(tail -n 1 <<<"$reason")"
        return
    fi
    run scripts/build-web.sh || return
    # Writes the proofs, with their keys and rows.
    run "$cargo" test --workspace --locked ${features[@]+"${features[@]}"} --test grove -- python::
    node_tests web/test/verifier.test.mjs
    if ! reason=$(scripts/web-tools.sh chromium 2>&1); then
        skip web "the page: $(tail -n 1 <<<"$reason")"
        return
    fi
    # shellcheck disable=SC1091
    source "$target/tools/web/chromium/env"
    node_tests web/test/browser.mjs
    # The page of a real service.
    run "$cargo" build --workspace --locked ${features[@]+"${features[@]}"} --bins
    EVERGROVE=$target/debug/evergrove node_tests web/test/page.mjs
}

group_c() { run scripts/test-c.sh; }

group_eth() {
    local reason
    # The tries and their circuits on outside data. Each test reports missing data itself.
    if required eth; then export EVERGROVE_REQUIRE_TEST=1; fi
    if [[ -n ${EVERGROVE_TESTDATA:-} ]]; then
        run "$cargo" test --workspace --locked ${features[@]+"${features[@]}"} --no-fail-fast --test ethereum
        run_ignored eth
    else
        skip eth "the tries: EVERGROVE_TESTDATA is not set"
    fi
    if ! reason=$(scripts/eth-tools.sh 2>&1); then
        skip eth "$(tail -n 1 <<<"$reason")"
        return
    fi
    run "$cargo" build --workspace --locked ${features[@]+"${features[@]}"} --bins
    run "$target/tools/eth/python/bin/python" scripts/test_eth.py "$target/debug/evergrove" "$target/tools/eth"
}

# Writes the gates as formulas, and proves them.
group_smt() {
    local reason result
    if ! reason=$(scripts/smt-tools.sh 2>&1); then
        skip smt "$(tail -n 1 <<<"$reason")"
        return
    fi
    EVERGROVE_GATES=$target/smt
    mkdir -p "$EVERGROVE_GATES"
    EVERGROVE_GATES=$(cd "$EVERGROVE_GATES" && pwd)
    export EVERGROVE_GATES
    # Results of earlier runs stay: each has a hash of what was asked.
    rm -f "$EVERGROVE_GATES"/*.smt2 "$EVERGROVE_GATES"/*.unstated
    run_ignored smt
    for result in "$EVERGROVE_GATES"/*.json; do
        compgen -G "${result%.json}.*smt2" >/dev/null || compgen -G "${result%.json}.unstated" >/dev/null || rm -f "$result"
    done
    run "$target/tools/smt/python/bin/python" scripts/test_smt.py "$EVERGROVE_GATES"
    run python3 scripts/test_constraints.py "$EVERGROVE_GATES"
}

# Leaves out each check of the verifier in turn.
group_checks() {
    command -v python3 >/dev/null || { skip checks "python3 is missing"; return; }
    run python3 scripts/test_checks.py
}

rows=() total=0
for group in "$@"; do
    if ! declare -F "group_$group" >/dev/null; then
        echo "unknown group $group: expected test, isa, peers, rtl, faults, slow, apps, web, c, eth, smt or checks" >&2
        exit 2
    fi
done
for group in "$@"; do
    echo "== $group =="
    : >"$log"
    start=$SECONDS
    "group_$group"
    # A test without its tool reports this and passes.
    untested=$(grep -c 'not tested: test ' "$log")
    skipped=$((untested + $(grep -c "^not tested: $group: " "$log")))
    failed=$(failures)
    rows+=("$(printf '%-8s %8d %8d %8d %8d' "$group" $(($(sum passed) - untested)) "$failed" "$skipped" $((SECONDS - start)))")
    total=$((total + failed))
done
printf '\n%-8s %8s %8s %8s %8s\n' group passed failed skipped seconds
printf '%s\n' "${rows[@]}"
[[ $total -eq 0 ]]
