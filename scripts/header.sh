#!/usr/bin/env bash
# Writes crates/ffi/include/evergrove.h, or compares it with the sources.
#
#   scripts/header.sh            write it
#   scripts/header.sh --check    exit with 1 and print the differences if it is not up to date
#
# cbindgen writes the header. It is installed under target/tools/cbindgen, and an existing version is not built again.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.29.2
header=crates/ffi/include/evergrove.h
cargo=${CARGO:-cargo}
dir=${CARGO_TARGET_DIR:-target}/tools/cbindgen

if [[ $("$dir/bin/cbindgen" --version 2>/dev/null || true) != "cbindgen $version" ]]; then
    mkdir -p "$dir"
    "$cargo" install --locked --quiet cbindgen --version "$version" --root "$dir" --target-dir "$dir/build"
    rm -rf "$dir/build"
fi

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
# The header states the conditions of Rust's unsafe functions only once, at its beginning.
"$dir/bin/cbindgen" --quiet --config crates/ffi/cbindgen.toml --crate evergrove-ffi . | awk '
    $0 == "//" { held = 1; next }
    $0 == "// # Safety" && held { skipped = 1; held = 0; next }
    skipped && /^\/\// { next }
    held { print "//"; held = 0 }
    { skipped = 0; blank = $0 == ""; if (blank && before) next; before = blank; print }' >"$fresh"
case ${1:-} in
'') mkdir -p "${header%/*}" && cp "$fresh" "$header" ;;
--check) diff -u "$header" "$fresh" || { echo "$header is not up to date: run make header" >&2; exit 1; } ;;
*) echo "unknown argument $1: expected --check or nothing" >&2; exit 2 ;;
esac
