#!/usr/bin/env bash
# Synthesises the modules of crates/lab/rtl with Yosys and writes their costs to crates/lab/data/synth.json.
#
#   scripts/synth.sh [MODULE..]    the named modules, or those with changed sources
#   scripts/synth.sh --all         every module again
#   scripts/synth.sh --check       compare all entries with the sources, and the smallest modules with a new synthesis
#
# scripts/synth.py describes the counts. Yosys is from scripts/rtl-tools.sh. Without it, the script prints one line,
# `not tested: rtl: ..`, and writes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

# With EVERGROVE_REQUIRE_RTL set, a missing tool is a failure.
not_tested() {
    echo "not tested: rtl: synthesis: $1"
    [[ -z ${EVERGROVE_REQUIRE_RTL:-} ]] || exit 1
    exit 0
}
reason=$(scripts/rtl-tools.sh yosys 2>&1) || not_tested "$(tail -n 1 <<<"$reason")"
command -v python3 >/dev/null || not_tested "python3 is missing"
exec python3 scripts/synth.py "${CARGO_TARGET_DIR:-target}/tools/rtl/bin/yosys" "$@"
