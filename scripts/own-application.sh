#!/usr/bin/env bash
# Copies examples/own-application out of the repository and builds the copy as an outside crate, with the repository's
# versions of all dependencies. Then runs its laws, and makes and verifies a proof.
#
#   scripts/own-application.sh [TARGET]      the build folder; target if left out
#
# CARGO names the cargo to use. Nothing is downloaded.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cargo=${CARGO:-cargo}
target=${1:-$root/target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/examples/own-application" "$work/crate"
cp "$root/Cargo.lock" "$work/crate"
cd "$work/crate"
sed -i "s#path = \"../../#path = \"$root/#" Cargo.toml
# Proofs need optimisation. The repository's profiles apply only to its own workspace, which the copy is not part of, so
# they are copied for the crates in which proofs spend their time.
{
    awk '/^\[/ { wanted = /^\[profile\.dev/ && !/package\.evergrove/ } wanted' "$root/Cargo.toml"
    printf '[profile.dev.package.evergrove-%s]\nopt-level = 3\n' primitives kernels multilinear proof commit grove store
} >>Cargo.toml

export CARGO_TARGET_DIR=$target
# Cargo removes packages that the crate does not use from the lock file. A checksum identifies a version.
"$cargo" metadata --offline --format-version 1 >/dev/null
if grep '^checksum' Cargo.lock | grep -vxFf "$root/Cargo.lock"; then
    echo "Cargo.lock of the copy has other versions than the repository's" >&2
    exit 1
fi
"$cargo" test --offline --locked --test laws
"$cargo" build --offline --locked
own=$target/debug/own-application

cd "$work"
export EVERGROVE_KEYS=$work/keys
printf 'index,units,defects\n0,5,2\n1,7,0\n2,1,1\n' >rows.csv
printf '[[column]]\nname = "%s"\ntype = "unsigned"\n' units defects >schema.toml
"$own" commit --quiet --store s --input rows.csv --schema schema.toml --index-column index
"$own" app list | grep '^score '
prove=(app prove score --parameters units=3,defects=40 --store s --batch b --indices 0-2)
"$own" "${prove[@]}" --quiet --out b.proof | grep -x '  total = 159'
commitment=$("$own" status --store s | awk '$1 == "commitment" { print $2 }')
verify=(--root "$commitment" --proof b.proof --schema schema.toml --leaves rows.csv)
"$own" app verify score --parameters units=3,defects=40 "${verify[@]}" | grep -x '  greatest = 95'
if "$own" app verify score --parameters units=3,defects=41 "${verify[@]}" 2>refused; then
    echo "other parameters are accepted" >&2
    exit 1
fi
grep '^error: ' refused
"$own" update --quiet --store s --set 1=units=8 >/dev/null
"$own" "${prove[@]}" --quiet | grep -x '  total = 162'
echo "the crate outside of the repository works"
