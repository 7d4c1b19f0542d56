#!/usr/bin/env bash
# Fetches the tools of the Solidity test into target/tools/eth: a Solidity compiler, OpenZeppelin's contracts and their
# library for Merkle trees from npm, and an EVM for Python from PyPI. Nothing is installed in the system, and existing
# tools are not fetched again.
#
#   scripts/eth-tools.sh
#
# npm installs what examples/solidity/package-lock.json pins. Node.js, npm and python3 are the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

pyrevm=0.3.7
tools=${CARGO_TARGET_DIR:-target}/tools/eth
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)

fail() {
    echo "$0: $1" >&2
    exit 1
}

wanted="pyrevm $pyrevm, $(cksum <examples/solidity/package-lock.json)"
[[ $(cat "$tools/version" 2>/dev/null || true) != "$wanted" ]] || exit 0
for program in node npm python3; do
    command -v "$program" >/dev/null || fail "$program is missing"
done
rm -rf "$tools"
mkdir -p "$tools"
cp examples/solidity/package.json examples/solidity/package-lock.json "$tools"
npm ci --prefix "$tools" --ignore-scripts --no-audit --no-fund --loglevel=error || fail "npm could not fetch the packages: try again"
# The environment is made in its final place, because it contains its own path. The version is written last, so that an
# incomplete folder is made again.
python3 -m venv "$tools/python" || fail "python3 cannot make an environment: install python3-venv"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check "pyrevm==$pyrevm" \
    || fail "pyrevm could not be fetched from PyPI: try again"
"$tools/python/bin/python" -c 'import pyrevm' || fail "pyrevm does not run here"
echo "$wanted" >"$tools/version"
