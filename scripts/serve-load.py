#!/usr/bin/env python3
"""Load on the service: how long answers take, and what it needs, at a rate of changes. Prints one JSON object for each rate.

    scripts/serve-load.py [EVERGROVE] [--rates 100,1000,5000] [--per-request 10] [--connections 64] [--seconds 20] [--random]

A table of 2^12 rows, all of them one batch of the native backend, which executes everything again: what is measured is the service, its
queue and the store, not the proofs. Requests set `--per-request` rows each, one after the other through the table, or with --random
anywhere: then several requests of an epoch may set the same position, and the last row stays.
"""

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time

ROWS = 4096
TOKEN = "0123456789abcdef0123456789abcdef"
SCHEMA = '[[column]]\nname = "name"\ntype = "bytes"\n[[column]]\nname = "amount"\ntype = "unsigned"\n'

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("evergrove", nargs="?", default="target/release/evergrove")
parser.add_argument("--rates", default="100,1000,5000")
parser.add_argument("--per-request", type=int, default=10)
parser.add_argument("--connections", type=int, default=64)
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--random", action="store_true")
args = parser.parse_args()
evergrove = os.path.abspath(args.evergrove)


class Load:
    """Sends requests at fixed times, with one caller for each connection."""

    def __init__(self, address, rate):
        self.address, self.interval = address, args.per_request / rate
        self.lock, self.next = threading.Lock(), 0
        self.waits, self.answers, self.epochs, self.behind = [], {}, set(), 0
        self.start = time.monotonic() + 0.2

    def call(self, caller):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        choose = random.Random(caller)
        while True:
            with self.lock:
                n, self.next = self.next, self.next + 1
            due = self.start + n * self.interval
            now = time.monotonic()
            # Requests that are still due after the end are not sent.
            if max(due, now) > self.start + args.seconds:
                return
            time.sleep(max(0, due - now))
            k = args.per_request
            rows = choose.sample(range(ROWS), k) if args.random else [(n * k + i) % ROWS for i in range(k)]
            lines = (json.dumps({"set": row, "row": {"name": f"n{n}", "amount": n}}) for row in rows)
            sent = time.monotonic()
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-ndjson"}
            connection.request("POST", "/v1/changes", "\n".join(lines), headers)
            answer = connection.getresponse()
            body = answer.read()
            done = time.monotonic()
            if answer.status != 200:
                # The service hangs up after refusing a request before reading it. The next request connects again.
                connection.close()
            with self.lock:
                self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
                self.behind += sent - due > 0.1
                if answer.status == 200:
                    self.waits.append(done - sent)
                    self.epochs.add(json.loads(body)["epoch"])

    def run(self):
        callers = [threading.Thread(target=self.call, args=(n,)) for n in range(args.connections)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        self.took = time.monotonic() - self.start


def serve(directory, rate):
    command = [evergrove, "serve", "--store", "s", "--listen", "127.0.0.1:0", "--keep", "20", "--log", "warn", "--format", "json"]
    environment = {**os.environ, "EVERGROVE_SERVE_TOKEN": TOKEN}
    service = subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        load = Load(json.loads(service.stdout.readline())["listening"], rate)
        load.run()
        with open(f"/proc/{service.pid}/status") as f:
            peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    finally:
        service.send_signal(signal.SIGTERM)
        service.communicate()
    waits = sorted(load.waits)
    quantile = lambda q: round(1000 * waits[min(len(waits) - 1, int(q * len(waits)))], 1) if waits else None
    print(json.dumps({
        "rate": rate, "per_request": args.per_request, "connections": args.connections, "random": args.random,
        "seconds": round(load.took, 1), "changes_per_s": round(len(waits) * args.per_request / load.took, 1),
        "answers": {str(status): n for status, n in sorted(load.answers.items())}, "sent_late": load.behind,
        "epochs": len(load.epochs), "p50_ms": quantile(0.5), "p99_ms": quantile(0.99), "max_ms": quantile(1),
        "peak_memory_mib": round(peak / 1024),
    }), flush=True)


with tempfile.TemporaryDirectory() as directory:
    with open(f"{directory}/t.csv", "w") as f:
        f.write("name,amount\n" + "".join(f"n{i},{i}\n" for i in range(ROWS)))
    with open(f"{directory}/t.toml", "w") as f:
        f.write(SCHEMA)
    run = lambda *words: subprocess.run([evergrove, *words, "--quiet"], cwd=directory, check=True, stdout=subprocess.DEVNULL)
    run("commit", "--store", "s", "--input", "t.csv", "--schema", "t.toml")
    run("prove", "--store", "s", "--batch", "all", "--indices", f"0-{ROWS - 1}", "--backend", "native", "--profile", "paper")
    for rate in args.rates.split(","):
        serve(directory, float(rate))
