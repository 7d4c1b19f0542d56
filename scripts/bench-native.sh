#!/usr/bin/env bash
# Compares the benchmarks of two binaries, one built with default flags and one for this CPU, in turns:
#
#   scripts/bench-native.sh DEFAULT NATIVE [ROUNDS]
#
# For ours, prints the seconds of both and their ratio: run-time detection should make them alike. For peers, prints how many
# times ours (default flags) they take, with default flags and built for this CPU: their vectors are those that they were
# compiled for. Figures are medians over the rounds (3 by default). KERNELS replaces the list of kernels, one command a line.
set -euo pipefail

if [[ $# -lt 2 ]]; then
    echo "usage: $0 DEFAULT_BINARY NATIVE_BINARY [ROUNDS]" >&2
    exit 2
fi
default=$1 native=$2 rounds=${3:-3}
for binary in "$default" "$native"; do
    [[ -x $binary ]] || { echo "$0: $binary is no program: run make bench-native" >&2; exit 2; }
done

kernels=${KERNELS:-"merkle-poseidon
merkle-poseidon --log-size 18 --columns 8
merkle-sha3
mle-eval
build-mle
product-mle
sumcheck
ntt
commit-matrix
plonky2-prove --profile paper"}

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
while read -r -a kernel; do
    [[ ${#kernel[@]} -gt 0 ]] || continue
    echo "measuring ${kernel[*]}" >&2
    for ((round = 0; round < rounds; round++)); do
        "$default" "${kernel[@]}" --json </dev/null | sed 's/^/default /' >>"$rows"
        "$native" "${kernel[@]}" --json </dev/null | sed 's/^/native /' >>"$rows"
    done
done <<<"$kernels"

awk '
# The value of a field of a line of JSON without nested objects of the same names.
function field(name,   at, rest) {
    at = index($0, "\"" name "\":")
    if (!at) return ""
    rest = substr($0, at + length(name) + 3)
    if (substr(rest, 1, 1) == "\"") { rest = substr(rest, 2); return substr(rest, 1, index(rest, "\"") - 1) }
    match(rest, /^[-+.0-9eE]+/)
    return substr(rest, 1, RLENGTH)
}
function median(key,   n, i, j, x, values) {
    n = split(all[key], values, " ")
    for (i = 2; i <= n; i++) {
        x = values[i] + 0
        for (j = i - 1; j >= 1 && values[j] + 0 > x; j--) values[j + 1] = values[j]
        values[j + 1] = x
    }
    return values[int((n + 1) / 2)] + 0
}
{
    what = field("kernel") " " field("circuit") " " field("size")
    if (field("columns") != "") what = what " x " field("columns")
    gsub(/ +/, " ", what)
    who = field("impl")
    if (!((what, who) in seen)) { seen[what, who] = 1; order[++count] = what SUBSEP who }
    all[$1, what, who] = all[$1, what, who] " " field("seconds")
}
END {
    printf "%-34s %-22s %12s %12s %16s %12s %12s\n", "kernel", "implementation", "default, s", "native, s", "default/native", "times ours", "native"
    for (i = 1; i <= count; i++) {
        split(order[i], key, SUBSEP)
        what = key[1]; who = key[2]
        d = median("default" SUBSEP what SUBSEP who); n = median("native" SUBSEP what SUBSEP who)
        if (!n) continue
        own = who ~ /^evergrove/
        ours = median("default" SUBSEP what SUBSEP "evergrove")
        printf "%-34s %-22s %12.5f %12.5f %16.3f", what, who, d, n, d / n
        if (!own && ours) printf " %12.2f %12.2f", d / ours, n / ours
        if (own && who == "evergrove" && d > 1.1 * n) printf "   default flags cost more than 10 %%"
        printf "\n"
    }
}' "$rows"
