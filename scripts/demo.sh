#!/usr/bin/env bash
# The main job on a real table: commit, prove, change, refresh and verify; wrong proofs must be refused.
#
#   scripts/demo.sh [EVERGROVE]       the binary; target/release/evergrove if left out
#
# DEMO_BACKEND=native shows the steps in seconds with the backend that executes again, whose proofs convince nobody
# else.
# DEMO_DIR=DIR keeps the store and the files in a new folder. EVERGROVE_KEYS=DIR keeps the proving keys in DIR instead
# of target/keys.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
evergrove=${1:-$root/target/release/evergrove}
backend=${DEMO_BACKEND:-grove}
table=examples/data/birdstrikes.csv
schema=examples/data/birdstrikes.toml
export EVERGROVE_KEYS=${EVERGROVE_KEYS:-$root/target/keys}

case $evergrove in /*) ;; *) evergrove=$PWD/$evergrove ;; esac
[ -x "$evergrove" ] || { echo "$evergrove is not there: run make demo" >&2; exit 2; }
if [ -n "${DEMO_DIR:-}" ]; then
    mkdir "$DEMO_DIR"
    work=$(cd "$DEMO_DIR" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
# The commands below name files without folders.
cd "$work"
ln -s "$root/examples" examples

accept=() named=()
[ "$backend" = grove ] || named=(--backend "$backend")
[ "$backend" != native ] || accept=(--allow-backend native)
# `other` is a profile that the verifier does not accept.
profile=grove-100 other=grove-128
if [ "$backend" = plonky2 ]; then profile=proven other=paper; fi
started=$SECONDS

title() { printf '\n== %s\n' "$*"; }

shown() {
    printf '$ evergrove'
    printf ' %s' "$@"
    printf '\n'
}

# Shows and runs a command. $json is its output, one JSON object.
run() {
    shown "$@"
    json=$("$evergrove" "$@" --format json) || { printf '%s\n' "$json" >&2; exit 1; }
}

# A field of the JSON object: a number, or a string without its quotation marks.
field() { sed -n 's/.*"'"$1"'": *\("\([^"]*\)"\|\([^",}]*\)\).*/\2\3/p' <<<"$json"; }

# Verification must refuse, with exit code 1. Anything else fails the demo.
refusals=0
refused() {
    local what=$1 code=0
    shift
    "$evergrove" verify "$@" >refusal.out 2>refusal.err || code=$?
    if [ "$code" -ne 1 ]; then
        printf 'FAILED: %s: exit code %s, not 1\n' "$what" "$code" >&2
        cat refusal.out refusal.err >&2
        exit 1
    fi
    printf '  refused: %s\n' "$what"
    sed -n 's/^error: \(.\{1,150\}\).*/           \1/p' refusal.err
    refusals=$((refusals + 1))
}

must_be() {
    [ "$1" "$2" "$3" ] || { printf 'FAILED: %s: %s is not %s %s\n' "$4" "$1" "$2" "$3" >&2; exit 1; }
}

kib() { awk -v b="$1" 'BEGIN { printf "%.1f KiB", b / 1024 }'; }
secs() { awk -v s="$1" 'BEGIN { if (s < 1) printf "%.1f ms", s * 1000; else printf "%.1f s", s }'; }
# Seconds from the start of the first proof to the end of the last one in a trace from --timings (docs/formats.md).
proving() {
    tr '{' '\n' <"$1" | sed -n 's/.*"cat":"proof","dur":\([0-9.]*\),.*"ts":\([0-9.]*\)}.*/\1 \2/p' |
        awk 'NR == 1 || $2 < from { from = $2 } $1 + $2 > to { to = $1 + $2 } END { printf "%.6f", (to - from) / 1e6 }'
}

title "A table of 10,000 reported wildlife strikes on aircraft"
sed -n 1,3p "$table"

title "Commit it"
run commit --store store --input "$table" --schema "$schema"
old_root=$(field commitment) rows=$(field rows) height=$(field height) commit_s=$(field seconds)
echo "$old_root"
echo "$rows rows, height $height"

title "Prove a batch: all strikes at night"
awk -F, '$9 == "Night" { print NR - 2 }' "$table" >night.txt
run prove --store store --batch night --indices night.txt "${named[@]}" \
    --out old.proof --leaves-out old.csv --timings prove.trace
members=$(field members) buckets=$(field buckets) merges=$(field merges) proofs=$(field proofs_total)
prove_s=$(field seconds) old_bytes=$(field proof_bytes) prove_only=$(proving prove.trace)
must_be "$buckets" -ge 4 "buckets of the batch"
must_be "$(field proofs_made)" -eq "$proofs" "proofs made from nothing"
echo "$members rows in $buckets buckets and $merges merges: $proofs proofs"

run verify --proof old.proof --root "$old_root" --leaves old.csv --schema "$schema" "${accept[@]}"
echo "accepted: $(field shown)"
run verify --proof old.proof --root "$old_root" "${accept[@]}"
echo "accepted, without the rows: $(field shown)"

title "Correct two rows in the batch and one outside it, and refresh the proof"
run update --store store --set 9001=speed_kn=180 --set 9246=cost_repair=2022,cost_total=49791 \
    --set 9030=cost_repair=12000,cost_total=12000 --timings update.trace
new_root=$(field commitment) redone=$(field proofs_made) of=$(field proofs_total) epoch=$(field epoch)
update_s=$(field seconds) update_only=$(proving update.trace)
must_be "$of" -eq "$proofs" "proofs of the batch after the update"
must_be "$redone" -lt "$((proofs / 2))" "proofs made by the update"
echo "$new_root"
echo "epoch $epoch: $redone of $of proofs made anew"
run export --store store --batch night --proof new.proof --leaves new.csv
new_bytes=$(field proof_bytes)

title "Verify it against the new commitment"
run verify --proof new.proof --root "$new_root" --leaves new.csv --schema "$schema" "${accept[@]}"
verify_s=$(field seconds)
bits_unique=$(field bits_unique_decoding) bits_johnson=$(field bits_johnson) bits_conjectured=$(field bits_conjectured)
echo "accepted: $(field shown)"

title "What must be refused"
batch=(--leaves new.csv --schema "$schema")
awk -F, -v OFS=, '$1 == 9246 { $13 += 1 } { print }' new.csv >tampered.csv
must_be "$(cmp -s new.csv tampered.csv; echo $?)" -eq 1 "the row was tampered with"
refused "a tampered row (its total cost is one dollar more)" \
    --proof new.proof --root "$new_root" --leaves tampered.csv --schema "$schema" "${accept[@]}"
sed '$d' new.csv >missing.csv
refused "a missing row" --proof new.proof --root "$new_root" --leaves missing.csv --schema "$schema" "${accept[@]}"
last=${new_root: -1}
wrong_root=${new_root%?}$([ "$last" = 0 ] && echo 1 || echo 0)
refused "a wrong commitment" --proof new.proof --root "$wrong_root" "${batch[@]}" "${accept[@]}"
refused "a stale proof (of the table before the update)" \
    --proof old.proof --root "$new_root" --leaves old.csv --schema "$schema" "${accept[@]}"
at=$(od -An -v -tx1 old.proof | tr -d ' \n' | awk -v root="${old_root##*:}" '{ print (index($0, root) - 1) / 2 }')
{
    head -c "$at" old.proof
    printf '%b' "$(sed 's/../\\x&/g' <<<"${new_root##*:}")"
    tail -c "+$((at + 33))" old.proof
} >relabelled.proof
must_be "$(wc -c <relabelled.proof)" -eq "$old_bytes" "the proof was relabelled"
refused "the stale proof, relabelled with the new commitment" \
    --proof relabelled.proof --root "$new_root" --leaves old.csv --schema "$schema" "${accept[@]}"
head -c "$((new_bytes - 100))" new.proof >truncated.proof
refused "a truncated proof" --proof truncated.proof --root "$new_root" "${batch[@]}" "${accept[@]}"
run prove --store store --batch few --indices 1,5,9001 --profile "$other" "${named[@]}" \
    --out other.proof --leaves-out few.csv
refused "a proof of the profile $other" \
    --proof other.proof --root "$new_root" --leaves few.csv --schema "$schema" "${accept[@]}"
run verify --proof other.proof --root "$new_root" --leaves few.csv --schema "$schema" --allow-profile "$other" "${accept[@]}"
echo "  accepted where the verifier asks for that profile by name: it is a true statement"

title "Summary ($backend, profile $profile, $(getconf _NPROCESSORS_ONLN) cores, no wrap)"
# Seconds from the start of the first proof to the end of the last one. Only Plonky2's prover writes traces.
spent() { [ "$1" = 0.000000 ] || printf ', %s from the first to the last%s' "$(secs "$1")" "$2"; }
line() { printf '  %-34s %12s   %s\n' "$1" "$2" "$3"; }
line "commit" "$(secs "$commit_s")" "$rows rows, height $height"
line "prove the batch" "$(secs "$prove_s")" "$proofs proofs$(spent "$prove_only" "; before it keys")"
line "refresh after 3 changed rows" "$(secs "$update_s")" "$redone proofs$(spent "$update_only" "")"
line "verify, with the $members rows' digest" "$(secs "$verify_s")" "accepted"
line "proof" "$(kib "$new_bytes")" "before the update $(kib "$old_bytes")"
line "proofs redone" "$redone of $of" "the rest were reused"
line "refused" "$refusals of $refusals" "each with exit code 1"
if [ "$bits_unique" != null ]; then
    line "bits, unique decoding (proven)" "$bits_unique" "the least over all error terms; docs/security.md"
    line "bits, up to the Johnson bound" "$bits_johnson" ""
    line "bits, random words (conjectured)" "$bits_conjectured" ""
fi
line "the whole demo" "$((SECONDS - started)) s" ""
