#!/usr/bin/env bash
# Synthesises the modules of rtl/ with Yosys and writes what they cost to crates/lab/data/synth.json.
#
#   scripts/synth.sh [MODULE..]    the modules named, or those whose sources differ from those of their entry
#   scripts/synth.sh --all         every module again
#   scripts/synth.sh --check       whether the entries are of these sources, and those of the smallest modules of this Yosys
#
# scripts/synth.py says what is counted. Yosys is that of scripts/rtl-tools.sh. Without it, one line says `not tested: rtl: ..`, and
# nothing is written.
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
