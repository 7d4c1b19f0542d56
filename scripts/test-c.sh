#!/usr/bin/env bash
# Tests the C library: the header, both libraries, and examples/c/verify.c on proofs of both profiles, also with
# sanitizers and under valgrind. Prints the sizes of the libraries.
#
#   scripts/test-c.sh
#
# For a missing tool the script prints one line, `not tested: c: ..`. With EVERGROVE_REQUIRE_C set, it is a failure.
# Valgrind is the system's, or Debian's, unpacked under target/tools/c. Each part ends with a line of counts in the form
# of cargo's tests.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
work=$target/c
header=crates/ffi/include
flags=(-std=c11 -Wall -Wextra -Werror -pedantic -I "$header")
failed=0

not_tested() {
    echo "not tested: c: $1"
    if [[ -n ${EVERGROVE_REQUIRE_C:-} ]]; then echo "failed: EVERGROVE_REQUIRE_C is set"; failed=1; fi
}

# A part of the test. Arguments: its name, and the command.
part() {
    local name=$1
    shift
    if "$@"; then
        echo "test result: ok. 1 passed; 0 failed ($name)"
    else
        echo "test result: FAILED. 0 passed; 1 failed ($name)"
        failed=1
    fi
}

compilers=()
for cc in gcc clang cc; do
    if command -v "$cc" >/dev/null && [[ $cc != cc || ${#compilers[@]} -eq 0 ]]; then compilers+=("$cc"); fi
done
[[ ${#compilers[@]} -gt 0 ]] || { not_tested "no C compiler"; exit "$failed"; }
command -v python3 >/dev/null || { not_tested "python3 is missing"; exit "$failed"; }

mkdir -p "$work"
work=$(cd "$work" && pwd)

part "header is up to date" scripts/header.sh --check
if command -v c++ >/dev/null; then
    part "header in C++" c++ -std=c++11 -Wall -Wextra -Werror -pedantic -x c++ -fsyntax-only "$header/evergrove.h"
else
    not_tested "no C++ compiler"
fi

"$cargo" build --locked --package evergrove-ffi --release
static=$target/release/libevergrove_verify.a
shared=$target/release/libevergrove_verify.so
[[ -f $shared ]] || shared=$target/release/libevergrove_verify.dylib
# The libraries that rustc lists for programs with the static library.
libraries=(-lpthread -ldl -lm)
for file in "$static" "$shared"; do
    cp "$file" "$work/${file##*/}"
    strip --strip-debug "$work/${file##*/}" 2>/dev/null || true
    echo "${file##*/}: $(wc -c <"$file") bytes, $(wc -c <"$work/${file##*/}") without debug symbols"
done

# Proofs of both profiles, with their keys and rows.
"$cargo" test --quiet --locked --package evergrove-grove --test grove python::a_second_verifier_agrees || failed=1
proofs=$target/tmp/verifier

for cc in "${compilers[@]}"; do
    part "example with $cc" "$cc" -O1 "${flags[@]}" examples/c/verify.c "$static" "${libraries[@]}" -o "$work/verify-$cc"
    part "example with $cc, shared library" "$cc" -O1 "${flags[@]}" examples/c/verify.c "$shared" -Wl,-rpath,"$(cd "$target/release" && pwd)" -o "$work/verify-$cc-shared"
done
first=${compilers[0]}
echo "verify with the static library: $(wc -c <"$work/verify-$first") bytes"
part "cases beside the second verifier" python3 scripts/test_c.py --second "$proofs" "$work/verify-$first"
for cc in "${compilers[@]}"; do
    [[ $cc == "$first" ]] || part "cases with $cc" python3 scripts/test_c.py "$proofs" "$work/verify-$cc"
    part "cases with $cc, shared library" python3 scripts/test_c.py "$proofs" "$work/verify-$cc-shared"
done

# Sanitizers see all allocations of the library, and its reads and writes in C's functions.
sanitized=(-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all)
if echo 'int main(void) { return 0; }' | "$first" "${sanitized[@]}" -x c - -o "$work/sanitizers" 2>/dev/null && "$work/sanitizers"; then
    part "example with sanitizers" "$first" "${sanitized[@]}" "${flags[@]}" examples/c/verify.c "$static" "${libraries[@]}" -o "$work/verify-sanitized"
    part "cases with sanitizers" env ASAN_OPTIONS=detect_leaks=1 python3 scripts/test_c.py "$proofs" "$work/verify-sanitized"
else
    not_tested "$first has no sanitizers"
fi

# Unpacks Debian's valgrind; nothing is installed in the system.
fetch_valgrind() {
    local dir=$1
    [[ -x $dir/usr/bin/valgrind ]] && return 0
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    mkdir -p "$dir"
    (cd "$dir" && apt-get -qq download valgrind && dpkg-deb -x valgrind_*.deb . && rm -f valgrind_*.deb)
}
valgrind=()
if command -v valgrind >/dev/null; then
    valgrind=(valgrind)
elif fetch_valgrind "$target/tools/c" >/dev/null 2>&1; then
    dir=$(cd "$target/tools/c" && pwd)
    export VALGRIND_LIB=$dir/usr/libexec/valgrind
    [[ -d $VALGRIND_LIB ]] || export VALGRIND_LIB=$dir/usr/lib/valgrind
    valgrind=("$dir/usr/bin/valgrind")
fi
# Without arguments the example exits with 2.
runs() { "$@" >/dev/null 2>&1 || [[ $? -eq 2 ]]; }
if [[ ${#valgrind[@]} -gt 0 ]] && runs "${valgrind[@]}" --quiet "$work/verify-$first"; then
    part "cases under valgrind" python3 scripts/test_c.py --every 4 "$proofs" "${valgrind[@]}" --quiet --error-exitcode=9 --leak-check=full "$work/verify-$first"
else
    not_tested "valgrind is missing and could not be fetched"
fi
exit "$failed"
