#!/usr/bin/env bash
# Tests all code that reads bytes with damaged and arbitrary bytes: the tests `mutation::`, with many more cases than
# `make test` has.
#
#   scripts/fuzz.sh [MINUTES]     1 if left out
#
# CARGO and TEST_FEATURES come from the Makefile.
set -euo pipefail

cd "$(dirname "$0")/.."
minutes=${1:-1}
[[ $minutes =~ ^[1-9][0-9]{0,5}$ ]] || { echo "$0: MINUTES is '$minutes', expected a number from 1 to 999999" >&2; exit 2; }
read -r -a features <<<"${TEST_FEATURES:-}"

# Crate, tests, and the number of cases of each test in a minute on two cores. A case takes from a microsecond (a
# decoder) to 60 milliseconds (a sum of points). PROPTEST_CASES overrides the number of cases that a test sets.
plan=(
    "verifier mutation:: 50000"
    "grove mutation:: 5000"
    "ffi mutation:: 20000"
    "ethereum mutation:: 200000"
    "store mutation:: 20000"
    "commit mutation:: 100000"
    "apps mutation:: 20000"
    "curves mutation::files 50000"
    "kernels mutation::sum_checks 50000"
    "curves mutation::sums 60"
    "lab mutation:: 2000"
    "plonky2 _refused 200"
)

mapfile -t crates < <(printf '%s\n' "${plan[@]}" | cut -d ' ' -f 1 | sort -u)
built=$(mktemp)
trap 'rm -f "$built"' EXIT
"${CARGO:-cargo}" test --workspace --locked ${features[@]+"${features[@]}"} --no-run "${crates[@]/#/--test=}" 2>&1 | tee "$built"

export RUST_BACKTRACE=0
failed=0
total=$SECONDS
for row in "${plan[@]}"; do
    read -r crate tests cases <<<"$row"
    cases=$((cases * minutes))
    program=$(sed -n "s|.*(\(.*/$crate-[0-9a-f]*\))\$|\1|p" "$built")
    [[ -x $program ]] || { echo "$0: cargo names no program of the tests of $crate" >&2; exit 1; }
    program=$(realpath "$program")
    start=$SECONDS
    echo "== $crate $tests: $cases cases of each test =="
    # The folder in which cargo starts tests.
    (cd "crates/$crate" && PROPTEST_CASES=$cases "$program" "$tests") || failed=1
    echo "== $crate $tests: $((SECONDS - start)) s =="
done
echo "== all of it: $((SECONDS - total)) s =="
exit "$failed"
