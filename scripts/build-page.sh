#!/usr/bin/env bash
# Builds the page of `evergrove serve`, which is part of the program: crates/serve/page.
#
#   scripts/build-page.sh [DIR]     into another folder
#   scripts/build-page.sh --check   say whether the committed files were built from these sources; needs no Node.js
#
# SOURCES has the SHA-256 digests of the sources and of the files that were built from them.
#
# The module is that of the verifier for web pages: scripts/build-web.sh comes first. npm installs what web/package-lock.json pins.
set -euo pipefail
cd "$(dirname "$0")/.."

# Of all that the files in the folder $1 were built from, and of these files.
digests() {
    find web/page web/verifier/src scripts/build-page.sh web/package-lock.json web/verify/icon.svg -type f | LC_ALL=C sort | xargs sha256sum
    (cd "$1" && find . -type f ! -name SOURCES | LC_ALL=C sort | xargs sha256sum)
}

if [[ ${1:-} == --check ]]; then
    diff crates/serve/page/SOURCES <(digests crates/serve/page) && exit
    echo "$0: crates/serve/page was not built from these sources (above: < as built, > now): run make web and commit it" >&2
    exit 1
fi

out=${1:-crates/serve/page}
module=${CARGO_TARGET_DIR:-target}/web/verifier/evergrove_verifier.wasm
[[ -f $module ]] || { echo "$0: $module is missing: run scripts/build-web.sh first" >&2; exit 1; }

web/node_modules/.bin/tsc -p web/page
mkdir -p "$out"
build=(--bundle --minify --format=esm --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning
    --jsx=automatic --jsx-import-source=preact)
web/node_modules/.bin/esbuild web/page/src/main.tsx "${build[@]}" --outfile="$out/page.js"
web/node_modules/.bin/esbuild web/page/src/worker.ts "${build[@]}" --outfile="$out/verify.js"
web/node_modules/.bin/esbuild web/page/style.css --minify --log-level=warning --outfile="$out/page.css"
cp web/page/index.html web/verify/icon.svg "$out"
cp "$module" "$out/verifier.wasm"
# Of what is bundled: esbuild leaves comments with licences out.
{
    echo "page.js contains Preact, version $(node --print 'require("./web/node_modules/preact/package.json").version'), under this licence:"
    echo
    cat web/node_modules/preact/LICENSE
} >"$out/LICENSES.txt"
digests "$out" >"$out/SOURCES"
echo "$out is built"
