#!/usr/bin/env bash
# Fetches the tools of tests and demos, except for the compiler, into target/tools: a Redis server and an S3 API.
# Nothing is installed in the system, and existing tools are not fetched again.
#
#   scripts/tools.sh [redis] [s3]     both if none is named
#
# Redis is the one on PATH, or Debian's package and its libraries, unpacked. S3 is moto's server from PyPI, in its own
# environment.
#
# For a tool that cannot be fetched, the script prints one line, 'not tested: ..', and the tests that need it pass
# without testing anything. With EVERGROVE_REQUIRE_TEST set, it is an error.
set -euo pipefail

cd "$(dirname "$0")/.."
tools=$PWD/target/tools
[[ $# -gt 0 ]] || set -- redis s3

fail() {
    echo "$0: $1" >&2
    exit 1
}

# Downloads Redis and its libraries into a folder. Further arguments are options of apt-get.
debian() {
    (cd "$1/packages" && apt-get -qq "${@:2}" download redis-server redis-tools libjemalloc2 liblzf1 libatomic1)
}

redis() {
    local bin=$tools/redis/bin/redis-server
    if command -v redis-server >/dev/null || [[ -x $bin ]]; then return; fi
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null \
        || fail "there is no redis-server on PATH, and no apt-get to fetch Debian's: install Redis 6.2 or newer"
    local stage=$tools/redis.part lib
    rm -rf "$stage"
    mkdir -p "$stage/bin" "$stage/packages"
    # Uses the system's package lists, or separate lists if these are missing or old.
    if ! debian "$stage" 2>/dev/null; then
        mkdir -p "$stage/lists/partial" "$stage/archives/partial"
        local own=(-o "Dir::State::lists=$stage/lists" -o "Dir::Cache=$stage")
        { apt-get -qq "${own[@]}" update && debian "$stage" "${own[@]}"; } \
            || fail "Debian's package redis-server could not be fetched: install Redis 6.2 or newer, or try again"
    fi
    for package in "$stage"/packages/*.deb; do dpkg-deb -x "$package" "$stage"; done
    lib=$(dirname "$(find "$stage/usr/lib" -name 'libjemalloc.so.2' | head -1)")
    # The wrappers find the libraries relative to their own path, so the folder can move.
    for program in redis-server redis-cli; do
        printf '#!/bin/sh\nhere=$(dirname "$0")/..\nLD_LIBRARY_PATH="$here/%s" exec "$here/usr/bin/%s" "$@"\n' \
            "${lib#"$stage"/}" "$program" >"$stage/bin/$program"
        chmod +x "$stage/bin/$program"
    done
    ln -sf redis-check-rdb "$stage/usr/bin/redis-server"
    "$stage/bin/redis-server" --version >/dev/null || fail "Debian's redis-server does not run here: install Redis 6.2 or newer"
    rm -rf "$stage"/{packages,lists,archives,*.bin} "$tools/redis"
    mv "$stage" "$tools/redis"
}

s3() {
    local bin=$tools/s3/bin/moto_server
    if [[ -x $bin ]]; then return; fi
    command -v python3 >/dev/null || fail "there is no python3, which the S3 API for tests needs"
    rm -rf "$tools/s3"
    mkdir -p "$tools"
    # The environment is made in its final place, because it contains its own path. The program is installed last, so
    # that an incomplete environment is made again.
    python3 -m venv "$tools/s3" || fail "python3 can not make an environment: install python3-venv"
    "$tools/s3/bin/pip" install --quiet --disable-pip-version-check 'moto[server]==5.*' \
        || { rm -rf "$tools/s3"; fail "moto could not be fetched from PyPI: try again"; }
}

mkdir -p "$tools"
status=0
for tool in "$@"; do
    case $tool in
    redis | s3) ;;
    *) fail "unknown tool $tool: expected redis or s3" ;;
    esac
    # In the background, because bash ignores set -e in a command whose failure is tested.
    "$tool" >"$tools/$tool.log" 2>&1 &
    if ! wait $!; then
        echo "not tested: what needs $tool: $(tail -n 1 "$tools/$tool.log") (log: target/tools/$tool.log)" >&2
        [[ -z ${EVERGROVE_REQUIRE_TEST:-} ]] || status=1
    fi
done
exit $status
