#!/usr/bin/env bash
# Fetches the solver of the gates' proofs into target/tools/smt: cvc5 with its theory of finite fields, from PyPI. It is
# the build under the GPL, which contains CoCoA; scripts/test_smt.py runs it as a separate process. Nothing is installed
# in the system, and an existing solver is not fetched again.
#
#   scripts/smt-tools.sh
#
# python3 is the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

cvc5=1.4.2
tools=${CARGO_TARGET_DIR:-target}/tools/smt
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)

fail() {
    echo "$0: $1" >&2
    exit 1
}

wanted="cvc5-gpl $cvc5"
[[ $(cat "$tools/version" 2>/dev/null || true) != "$wanted" ]] || exit 0
command -v python3 >/dev/null || fail "python3 is missing"
rm -rf "$tools"
mkdir -p "$tools"
# The environment is made in its final place, because it contains its own path. The version is written last, so that an
# incomplete folder is made again.
python3 -m venv "$tools/python" || fail "python3 cannot make an environment: install python3-venv"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check --no-deps "cvc5-gpl==$cvc5" \
    || fail "cvc5-gpl could not be fetched from PyPI: try again"
"$tools/python/bin/python" -c 'import cvc5' || fail "cvc5 does not run here"
echo "$wanted" >"$tools/version"
