#!/usr/bin/env bash
# Fetches Debian's packages for building and running the tests for aarch64 into target/tools/arm: a Rust compiler with
# the standard libraries of both architectures, a cross compiler for C, and qemu's user mode. Nothing is installed in
# the system, and existing packages are not fetched again.
#
#   scripts/arm-tools.sh
#
# It writes a file target/tools/arm/env to source, with RUSTC and cargo's settings for the target. Programs are linked
# statically, so that the emulator needs no other files. cargo and the C compiler for this machine are the system's.
set -euo pipefail
cd "$(dirname "$0")/.."

layout=1 # a change of this script that needs the tools again
tools=${CARGO_TARGET_DIR:-target}/tools
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
dir=$tools/arm
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

fail() {
    echo "$0: $1" >&2
    exit 1
}

# True if the version $1 is at least $2.
not_older() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

[[ $(cat "$dir/version" 2>/dev/null || true) == "$layout $wanted" ]] && exit 0
[[ $(uname -m) == x86_64 ]] || fail "the tools are for x86-64 hosts, and this one is $(uname -m)"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || fail "apt-get or dpkg-deb is missing: install both to fetch Debian's compilers"

# Everything is unpacked in its final place, because env has absolute paths. The version is written last, so that an
# incomplete folder is made again.
rm -rf "$dir"
mkdir -p "$dir/bin" "$dir/state/lists/partial" "$dir/cache/archives/partial"

# Separate package lists for two architectures; the system's configuration has only one and is not changed.
own=(-qq -o "Dir::State=$dir/state" -o Dir::State::status=/var/lib/dpkg/status -o "Dir::Cache=$dir/cache"
    -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o APT::Architectures::=amd64 -o APT::Architectures::=arm64)
apt-get "${own[@]}" update || fail "Debian's package lists could not be fetched: try again"
# The resolver names the libraries that this system lacks. Nothing is installed.
apt-get "${own[@]}" --yes --download-only --no-install-recommends install \
    rustc-web gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user >/dev/null \
    || fail "Debian has no rustc-web, gcc-aarch64-linux-gnu or qemu-user for this system"
# Only the standard library; the compiler for aarch64 is not needed.
(cd "$dir/cache/archives" && apt-get "${own[@]}" download libstd-rust-web-dev:arm64) \
    || fail "Debian's package libstd-rust-web-dev:arm64 could not be fetched: try again"
for package in "$dir"/cache/archives/*.deb; do
    case ${package##*/} in
    # This system has these packages; otherwise no program would run.
    libc6_* | libc-bin_* | libc6-dev_*) ;;
    *) dpkg-deb -x "$package" "$dir" ;;
    esac
done
rm -rf "$dir/cache" "$dir/state"

wrapper() {
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s:%s" exec %s "$@"\n' "$dir/usr/lib/x86_64-linux-gnu" "$dir/lib/x86_64-linux-gnu" "$2" \
        >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}
wrapper rustc "$dir/usr/bin/rustc --sysroot $dir/usr"
wrapper rustdoc "$dir/usr/bin/rustdoc --sysroot $dir/usr"
wrapper aarch64-linux-gnu-gcc "$dir/usr/bin/aarch64-linux-gnu-gcc"
wrapper aarch64-linux-gnu-ar "$dir/usr/bin/aarch64-linux-gnu-ar"
wrapper aarch64-linux-gnu-objdump "$dir/usr/bin/aarch64-linux-gnu-objdump"
wrapper qemu-aarch64 "$dir/usr/bin/qemu-aarch64"

found=$("$dir/bin/rustc" --version | cut -d ' ' -f 2) || fail "Debian's rustc-web does not run here"
not_older "$found" "$wanted" || fail "Debian's rustc-web is $found, and the crates need Rust $wanted"
"$dir/bin/qemu-aarch64" --version >/dev/null || fail "Debian's qemu-user does not run here"
"$dir/bin/aarch64-linux-gnu-gcc" --version >/dev/null || fail "Debian's gcc-aarch64-linux-gnu does not run here"

cat >"$dir/env" <<ENV
export RUSTC="$dir/bin/rustc"
export RUSTDOC="$dir/bin/rustdoc"
export CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$dir/bin/aarch64-linux-gnu-gcc"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$dir/bin/qemu-aarch64"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export CC_aarch64_unknown_linux_gnu="$dir/bin/aarch64-linux-gnu-gcc"
export AR_aarch64_unknown_linux_gnu="$dir/bin/aarch64-linux-gnu-ar"
ENV
echo "$layout $wanted" >"$dir/version"
