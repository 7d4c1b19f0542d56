#!/usr/bin/env bash
# Builds the verifier for web pages and Node.js, and the page that uses it.
#
#   scripts/build-web.sh
#
# target/web/verifier    the package: the module for WebAssembly, JavaScript and types
# target/web/verify      the page: static files for any server
#
# The Rust compiler is from scripts/web-tools.sh, and the one for TypeScript from npm. EVERGROVE_WEB_MODULE names a
# built module to use instead of building crates/ffi.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=$((256 * 1024)) # bytes of the module, compressed

fail() {
    echo "$0: $1" >&2
    exit 1
}

for program in node npm; do
    command -v "$program" >/dev/null || fail "$program is missing: install Node.js 20 or newer"
done
[[ $(node --print 'process.versions.node.split(".")[0] >= 20') == true ]] || fail "Node.js is $(node --version), expected 20 or newer"

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/web"
target=$(cd "$target" && pwd)
web=$target/web

module=${EVERGROVE_WEB_MODULE:-}
if [[ -z $module ]]; then
    scripts/web-tools.sh rust
    (
        # shellcheck disable=SC1091
        source "$target/tools/web/rust/env"
        # For -Zbuild-std and the other unstable options. Debian has no standard library for this target.
        export RUSTC_BOOTSTRAP=1
        # Panics have no messages, because the module could not show them and they would contain paths of this machine.
        # Vector instructions make the module smaller and its BLAKE3 faster; all browsers have had them since 2023.
        flags="-Ctarget-feature=+simd128 -Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none"
        export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=$flags
        export CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_STRIP=symbols
        # Optimised for size, except for the fields and hashes, which take most of the time.
        "$CARGO" build --release --locked --package evergrove-ffi --lib --target wasm32-unknown-unknown \
            -Zbuild-std=core,alloc --target-dir "$web/build" \
            --config 'profile.release.opt-level="z"' \
            --config 'profile.release.package.evergrove-verifier.opt-level="s"' \
            --config 'profile.release.package.evergrove-primitives.opt-level=3'
    )
    module=$web/build/wasm32-unknown-unknown/release/evergrove_verify.wasm
fi

node --input-type=module - "$module" "$limit" <<'JS'
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [path, limit] = process.argv.slice(2);
const bytes = readFileSync(path);
const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytes)).map((x) => `${x.module}.${x.name}`);
const length = gzipSync(bytes, { level: 9 }).length;
console.log(`${path}: ${bytes.length} bytes, compressed ${length}, ${imports.length} imports`);
if (imports.length > 0) throw new Error(`the module imports ${imports.join(", ")}, expected no imports`);
if (length > Number(limit)) throw new Error(`the module has ${length} bytes compressed, the limit is ${limit}`);
JS

# Outside of target, so that editors find the types as well.
if [[ ! web/node_modules/.package-lock.json -nt web/package-lock.json ]]; then
    npm ci --prefix web --no-audit --no-fund --loglevel=error
    touch web/node_modules/.package-lock.json
fi
rm -rf "$web/verifier" "$web/verify"
web/node_modules/.bin/tsc -p web/verifier --outDir "$web/verifier"
web/node_modules/.bin/tsc -p web/verify --outDir "$web/verify"
cp web/verifier/package.json web/verifier/README.md LICENSE-MIT LICENSE-APACHE "$web/verifier"
cp web/verify/index.html web/verify/style.css web/verify/icon.svg "$web/verify"
cp "$module" "$web/verifier/evergrove_verifier.wasm"
cp "$module" "$web/verify/verifier/evergrove_verifier.wasm"
echo "$web/verifier and $web/verify are built"
