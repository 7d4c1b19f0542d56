#!/usr/bin/env bash
# Proves with workers on one machine: a Redis server, an S3 API, and two workers, one of which is killed in the middle.
#
#   scripts/cluster-demo.sh [EVERGROVE]       the binary; target/release/evergrove if left out
#
# DEMO_BACKEND=native shows the steps in seconds with the backend that executes again, whose proofs convince nobody
# else.
# EVERGROVE_KEYS=DIR keeps the proving keys in DIR instead of target/keys.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
evergrove=${1:-$root/target/release/evergrove}
backend=${DEMO_BACKEND:-grove}
table=$root/examples/data/birdstrikes.csv
schema=$root/examples/data/birdstrikes.toml
tools=$root/target/tools
bucket=evergrove
export EVERGROVE_KEYS=${EVERGROVE_KEYS:-$root/target/keys}

case $evergrove in /*) ;; *) evergrove=$PWD/$evergrove ;; esac
[ -x "$evergrove" ] || { echo "$evergrove is not there: run make cluster-demo" >&2; exit 2; }
redis_server=$(PATH=$tools/redis/bin:$PATH command -v redis-server) || { echo "no redis-server: run make tools" >&2; exit 2; }
[ -x "$tools/s3/bin/moto_server" ] || { echo "no S3 API: run make tools" >&2; exit 2; }

work=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
cd "$work"
accept=()
[ "$backend" != native ] || accept=(--allow-backend native)

title() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
port() { "$tools/s3/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# A field of a JSON object in a file: a number, or a string without its quotation marks.
field() { sed -n 's/.*"'"$1"'": *\("\([^"]*\)"\|\([^",}]*\)\).*/\2\3/p' "$2"; }
# Waits until a file has a line with this text.
await() {
    for _ in $(seq 3000); do
        ! grep -q "$2" "$1" 2>/dev/null || return 0
        sleep 0.02
    done
    cat "$1" >&2
    fail "$1 does not say: $2"
}

title "A Redis server and an S3 API on the loopback device"
redis_port=$(port) s3_port=$(port)
"$redis_server" --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly yes --maxmemory-policy noeviction \
    --dir "$work" >redis.log 2>&1 &
pids+=($!)
"$tools/s3/bin/moto_server" -H 127.0.0.1 -p "$s3_port" >s3.log 2>&1 &
pids+=($!)
export AWS_ENDPOINT_URL=http://127.0.0.1:$s3_port AWS_ALLOW_HTTP=true AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
make_bucket="import urllib.request as u
u.urlopen(u.Request('$AWS_ENDPOINT_URL/$bucket', method='PUT', headers={'Authorization': 'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'}))"
for _ in $(seq 300); do
    ! "$tools/s3/bin/python" -c "$make_bucket" 2>/dev/null || { made=1; break; }
    sleep 0.1
done
[ "${made:-0}" = 1 ] || { cat s3.log >&2; fail "the S3 API does not answer"; }
await redis.log "Ready to accept connections"
queue=redis://127.0.0.1:$redis_port
objects=s3://$bucket/demo
echo "$("$redis_server" --version | cut -d' ' -f1-3), moto's S3 API; objects in $objects"

title "Two workers"
cores=$(getconf _NPROCESSORS_ONLN)
threads=$(((cores + 1) / 2))
for name in ann bob; do
    "$evergrove" worker --redis "$queue" --objects "$objects" --threads "$threads" --lock 5 --name "$name" \
        --format json >"$name.out" 2>"$name.log" &
    pids+=($!)
    declare "$name=$!"
    await "$name.log" "waiting for jobs"
    cat "$name.log"
done

title "Commit a table, and let the workers prove a batch of it"
"$evergrove" commit --store store --input "$table" --schema "$schema" --format json >commit.json
awk -F, '$9 == "Night" { print NR - 2 }' "$table" >night.txt
prove=(prove --store store --batch night --indices night.txt --backend "$backend" --out night.proof --leaves-out night.csv)
echo "$ evergrove ${prove[*]} --engine $queue --objects $objects"
started=$(date +%s.%N)
"$evergrove" "${prove[@]}" --engine "$queue" --objects "$objects" --format json >prove.json 2>prove.log &
leader=$!
pids+=("$leader")

title "Kill one of them in the middle"
await ann.log "bucket"
# The worker has started its next proof, which takes longer than this.
sleep 0.2
kill -9 "$ann"
wait "$ann" 2>/dev/null || true
echo "kill -9 of ann, who had made $(grep -c ': .* [KM]iB' ann.log || true) proofs"
wait "$leader" || { cat prove.log bob.log >&2; fail "the batch was not proven"; }
seconds=$(awk -v from="$started" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }')
total=$(field proofs_total prove.json)
echo "the other one finished: $total proofs in $seconds s"

title "Verify it"
root_now=$(field commitment commit.json)
"$evergrove" verify --proof night.proof --root "$root_now" --leaves night.csv --schema "$schema" "${accept[@]}" --format json >verify.json
[ "$(field accepted verify.json)" = true ] || fail "the proof is refused"
echo "accepted: $(field shown verify.json)"

title "Change a row: only the proofs above it are made"
"$evergrove" update --store store --set 9001=speed_kn=180 --engine "$queue" --objects "$objects" --format json >update.json 2>/dev/null
redone=$(field proofs_made update.json | head -1)
[ "$redone" -lt "$total" ] || fail "$redone of $total proofs made anew"
echo "$redone of $total proofs made anew"

title "The worker that is left drains on SIGTERM"
kill -TERM "$bob"
wait "$bob" || { cat bob.log >&2; fail "the worker did not drain"; }
done_by_bob=$(field jobs_done bob.out)
echo "bob had made $done_by_bob proofs, failed $(field jobs_failed bob.out), and ended"
