#!/usr/bin/env bash
# Measures each application in a separate process and draws the paper's Fig. 12, in tens of minutes on two cores.
# Existing rows and circuits are kept, so that an interrupted run can be resumed.
# Usage: scripts/bench-apps.sh BENCH [DIR]
set -euo pipefail

bench=${1:?the path of evergrove-bench}
out=${2:-target/figures/apps}
keys=${EVERGROVE_KEYS:-target/keys}
mkdir -p "$out/fig-12" "$out/others"

run() {
    local rows=$out/$1.json
    shift
    if [ ! -s "$rows" ]; then
        echo "$*" >&2
        "$bench" "$@" --keys "$keys" --threads 2 --json > "$rows.part"
        mv "$rows.part" "$rows"
    fi
    cat "$rows"
}

run fig-12/translation-7 digest-translation --log-size 7 --profile paper
for log in 8 9 10; do
    run "fig-12/translation-$log" digest-translation --log-size "$log" --profile paper --measured-height 1
done
run fig-12/keys-512 bls-keys --signers 512 --profile paper
for signers in 16 64 128; do
    run "fig-12/keys-$signers" bls-keys --signers "$signers" --profile paper --measured-log 1
done
run others/keys-of-2-21 bls-keys --log-size 21 --signers 512 --profile paper --measured-log 1
run others/aggregate aggregate --profile grove-100 --profile proven --profile paper
run others/keys-proven bls-keys --signers 512 --profile proven --measured-log 1
run others/translation-proven digest-translation --log-size 10 --profile proven --measured-height 1
cat "$out"/fig-12/*.json > "$out/rows.json"
"$bench" figures apps --rows "$out/rows.json" --out "$out"
