#!/usr/bin/env bash
# Kills commit, prove and update with SIGKILL at random points. After each kill the store must open, `doctor` must find
# nothing wrong, and the same command, run again, must finish.
#
#   scripts/crash.sh [EVERGROVE]      the binary; target/debug/evergrove if left out
#
# CRASH_ROUNDS (default 100) is the number of kills, a third for each command. CRASH_BACKEND (default native, which
# proves in milliseconds, since this tests the store) makes the proofs. CRASH_SEED repeats the choices of a run, as far
# as the timing of the machine allows. CRASH_DIR=DIR keeps the stores in a new folder.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
evergrove=${1:-$root/target/debug/evergrove}
rounds=${CRASH_ROUNDS:-100}
seed=${CRASH_SEED:-$RANDOM}
backend=${CRASH_BACKEND:-native}
table=$root/examples/data/birdstrikes.csv
schema=$root/examples/data/birdstrikes.toml
RANDOM=$seed

case $evergrove in /*) ;; *) evergrove=$PWD/$evergrove ;; esac
[ -x "$evergrove" ] || { echo "$evergrove is not there: cargo build --package evergrove-cli" >&2; exit 2; }
if [ -n "${CRASH_DIR:-}" ]; then
    mkdir "$CRASH_DIR"
    work=$(cd "$CRASH_DIR" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
cd "$work"

fail() {
    printf 'FAILED in round %s (seed %s): %s\n' "${round:-0}" "$seed" "$*" >&2
    tail -n 5 ./*.err >&2
    exit 1
}

# Runs a command to its end. $json is its JSON output.
run() { json=$("$evergrove" "$@" --format json --quiet 2>run.err) || fail "evergrove $* exits with $?"; }

field() { sed -n 's/.*"'"$1"'": *\("\([^"]*\)"\|\([^",}]*\)\).*/\2\3/p' <<<"$json"; }

# The time in milliseconds.
now() { local t=${EPOCHREALTIME/[.,]/}; echo $((t / 1000)); }

# Runs a command and kills it at a random time in its first $1 milliseconds. Counts whether it was still running.
killed=0 finished=0
run_killed() {
    local within=$1 pid
    shift
    "$evergrove" "$@" --format json --quiet >killed.out 2>killed.err &
    pid=$!
    sleep "$(awk -v ms="$within" -v r="$RANDOM" 'BEGIN { printf "%.3f", ms * r / 32768 / 1000 }')"
    if kill -KILL "$pid" 2>/dev/null; then :; fi
    local code=0
    wait "$pid" 2>/dev/null || code=$?
    case $code in
        137) killed=$((killed + 1)) ;;
        0) finished=$((finished + 1)) ;;
        *) fail "evergrove $* exits with $code before it is killed: $(cat killed.err)" ;;
    esac
}

# The store must open, and its contents must be sound.
must_be_sound() {
    run status --store "$1"
    run doctor --store "$1"
}

must_verify() {
    run export --store "$1" --batch night --proof night.proof --leaves night.csv
    run status --store "$1"
    run verify --proof night.proof --root "$(field commitment)" --leaves night.csv --schema "$schema" --allow-backend "$backend"
}

# A third of the demo's batch: more than one bucket, and rounds of a few seconds.
awk -F, '$9 == "Night" && n++ < 1100 { print NR - 2 }' "$table" >night.txt
commit=(commit --input "$table" --schema "$schema")
prove=(prove --batch night --indices night.txt --backend "$backend")

# The time of each command without a kill.
start=$(now)
run "${commit[@]}" --store calm
commit_ms=$(($(now) - start))
root_of_table=$(field commitment)
cp -r calm committed
start=$(now)
run "${prove[@]}" --store calm
prove_ms=$(($(now) - start))
cp -r calm updated
start=$(now)
run update --store calm --set 5=cost_other=1
update_ms=$(($(now) - start))
must_verify calm
echo "seed $seed; undisturbed: commit $commit_ms ms, prove $prove_ms ms, update $update_ms ms"

for ((round = 1; round <= rounds; round++)); do
    case $((round % 3)) in
        0)
            rm -rf fresh
            run_killed "$commit_ms" "${commit[@]}" --store fresh
            if "$evergrove" status --store fresh --format json >status.out 2>status.err; then
                must_be_sound fresh
            else
                # The store does not exist, and the command starts again in the same place.
                run "${commit[@]}" --store fresh
                must_be_sound fresh
            fi
            run status --store fresh
            [ "$(field commitment)" = "$root_of_table" ] || fail "another commitment after a killed commit"
            ;;
        1)
            rm -rf proving
            cp -r committed proving
            run_killed "$prove_ms" "${prove[@]}" --store proving
            must_be_sound proving
            run "${prove[@]}" --store proving
            must_verify proving
            ;;
        2)
            # All updates use the same store. Each round has its own row and value.
            set=$((round * 97 % 10000))=cost_other=$round
            run status --store updated
            before=$(field commitment)
            run_killed "$update_ms" update --store updated --set "$set"
            must_be_sound updated
            run status --store updated
            between=$(field commitment)
            run update --store updated --set "$set"
            must_be_sound updated
            must_verify updated
            run status --store updated
            after=$(field commitment)
            [ "$between" = "$before" ] || [ "$between" = "$after" ] || fail "a killed update left half of its changes"
            [ "$before" != "$after" ] || fail "the update that was run again changed nothing"
            ;;
    esac
    if ((round % 10 == 0)); then echo "$round of $rounds rounds"; fi
done
[ "$killed" -gt 0 ] || fail "no command was killed: it ended before"
echo "$rounds rounds: $killed commands killed, $finished finished before the kill; every store opened, passed doctor and finished"
