#!/usr/bin/env bash
# Fetches Debian's packages for building the verifier for web pages, and the browser that tests it, into
# target/tools/web. Nothing is installed in the system, and existing packages are not fetched again.
#
#   scripts/web-tools.sh [rust] [chromium]     both if none is named
#
# `rust` is a Rust compiler with cargo, the sources of its standard library, and a linker for WebAssembly. Debian has no
# standard library of this compiler for wasm32, so cargo builds `core` and `alloc` from the sources. `chromium` is the
# browser with its libraries and two families of fonts.
#
# It writes the files target/tools/web/rust/env (CARGO, RUSTC and the linker) and target/tools/web/chromium/env
# (CHROMIUM) to source. Node.js and npm are the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

layout=2 # a change of this script that needs the tools again
tools=${CARGO_TARGET_DIR:-target}/tools/web
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
libraries=usr/lib/x86_64-linux-gnu

fail() {
    echo "$0: $1" >&2
    exit 1
}

# True if the version $1 is at least $2.
not_older() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# Downloads packages and the libraries that this system lacks, and unpacks them in the folder $1.
fetch() {
    local dir=$1 own package
    shift
    # Everything is unpacked in its final place, because env has absolute paths. The version is written last, so that an
    # incomplete folder is made again.
    rm -rf "$dir"
    mkdir -p "$dir/bin" "$dir/state/lists/partial" "$dir/cache/archives/partial"
    own=(-qq -o "Dir::State=$dir/state" -o Dir::State::status=/var/lib/dpkg/status -o "Dir::Cache=$dir/cache"
        -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
    apt-get "${own[@]}" update || fail "Debian's package lists could not be fetched: try again"
    # The linker with the LLVM version of the compiler.
    if [[ $1 == rustc-web ]]; then
        set -- "$@" "$(apt-cache "${own[@]}" depends rust-web-llvm 2>/dev/null | sed -n 's/.*Depends: llvm-\([0-9]*\)$/lld-\1/p' | head -n 1)"
    fi
    # The resolver names the libraries that this system lacks. Nothing is installed.
    apt-get "${own[@]}" --yes --download-only --no-install-recommends install "$@" >/dev/null \
        || fail "Debian does not have $* for this system"
    for package in "$dir"/cache/archives/*.deb; do
        case ${package##*/} in
        # This system has these packages; otherwise no program would run.
        libc6_* | libc-bin_* | libc6-dev_*) ;;
        *) dpkg-deb -x "$package" "$dir" ;;
        esac
    done
    rm -rf "$dir/cache" "$dir/state"
}

# Writes a wrapper for a program that needs the libraries of the folder $1. $2 is its name, the rest is the command.
wrapper() {
    local dir=$1 name=$2
    shift 2
    printf '#!/bin/sh\nexport LD_LIBRARY_PATH="%s"\nexec %s "$@"\n' \
        "$dir/$libraries:$dir/lib/x86_64-linux-gnu:$dir/$libraries/pulseaudio" "$*" >"$dir/bin/$name"
    chmod +x "$dir/bin/$name"
}

rust() {
    local dir=$tools/rust found linker
    [[ $(cat "$dir/version" 2>/dev/null || true) == "$layout $wanted" ]] && return
    fetch "$dir" rustc-web cargo-web rust-web-src
    # The sources of the compiler, which are half of the folder's size.
    rm -rf "$dir"/usr/src/rustc-*/compiler "$dir"/usr/src/rustc-*/src
    wrapper "$dir" rustc "$dir/usr/bin/rustc" --sysroot "$dir/usr"
    wrapper "$dir" cargo "$dir/usr/bin/cargo"
    linker=$(find "$dir/usr/lib" -path '*/llvm-*/bin/wasm-ld' | head -n 1)
    [[ -n $linker ]] || fail "Debian's packages of the compiler came without wasm-ld"
    wrapper "$dir" wasm-ld "$linker"
    found=$("$dir/bin/rustc" --version | cut -d ' ' -f 2) || fail "Debian's rustc-web does not run here"
    not_older "$found" "$wanted" || fail "Debian's rustc-web is $found, and the crates need Rust $wanted"
    "$dir/bin/cargo" --version >/dev/null || fail "Debian's cargo-web does not run here"
    "$dir/bin/wasm-ld" --version >/dev/null || fail "Debian's wasm-ld does not run here"
    [[ -f $dir/usr/lib/rustlib/src/rust/library/core/src/lib.rs ]] || fail "Debian's rust-web-src is not at its place below the compiler"
    cat >"$dir/env" <<ENV
export CARGO="$dir/bin/cargo"
export RUSTC="$dir/bin/rustc"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$dir/bin/wasm-ld"
ENV
    echo "$layout $wanted" >"$dir/version"
}

chromium() {
    local dir=$tools/chromium
    [[ $(cat "$dir/version" 2>/dev/null || true) == "$layout" ]] && return
    fetch "$dir" chromium fonts-liberation fonts-dejavu-core
    # Only these fonts, so that a page looks the same on every machine.
    mkdir -p "$dir/fonts"
    cat >"$dir/fonts/fonts.conf" <<FONTS
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>$dir/usr/share/fonts</dir>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>$dir/fonts/cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>Liberation Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <match><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>
</fontconfig>
FONTS
    wrapper "$dir" chromium env "FONTCONFIG_FILE=$dir/fonts/fonts.conf" "$dir/usr/lib/chromium/chromium"
    "$dir/bin/chromium" --version >/dev/null || fail "Debian's chromium does not run here"
    echo "export CHROMIUM=\"$dir/bin/chromium\"" >"$dir/env"
    echo "$layout" >"$dir/version"
}

[[ $(uname -m) == x86_64 ]] || fail "the tools are for x86-64 hosts, and this one is $(uname -m)"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "apt-get or dpkg-deb is missing: install both to fetch Debian's packages"
[[ $# -gt 0 ]] || set -- rust chromium
for part in "$@"; do
    case $part in
    rust | chromium) "$part" ;;
    *) fail "unknown part $part: expected rust or chromium" ;;
    esac
done
