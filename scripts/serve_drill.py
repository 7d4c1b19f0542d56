#!/usr/bin/env python3
"""Drills of the service with real proofs. Each prints one JSON object, and exits with 1 if the service broke a promise.

    scripts/serve_drill.py load     changes at a rate, while callers hold thousands of connections: times, memory, age of the proofs
    scripts/serve_drill.py storm    callers who break off and repeat, and kill -9: no change may be lost or made twice
    scripts/serve_drill.py disk     a file system that fills up (needs root, for a mount)
    scripts/serve_drill.py start    kill -9 and start of a large store that the system has not cached; its backup and restore
    scripts/serve_drill.py operate  the commands of deploy/compose.yaml as processes: commit, prove, kill a worker, back up,
                                    restore, and a store of version 0.1

`make tools` fetches the Redis server, which `load` with --workers and `operate` need.
"""

import argparse
import contextlib
import glob
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = "0123456789abcdef0123456789abcdef"
PASSWORD = "a-password-of-redis"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SCHEMA = '[[column]]\nname = "name"\ntype = "bytes"\n[[column]]\nname = "amount"\ntype = "unsigned"\n'

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--evergrove", default=f"{ROOT}/target/release/evergrove", help="the command, built with the feature full")
drills = parser.add_subparsers(dest="drill", required=True)
load = drills.add_parser("load", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
load.add_argument("--rate", type=float, default=2000, help="changes a second")
load.add_argument("--seconds", type=float, default=300)
load.add_argument("--per-request", type=int, default=20, help="changes of a request, at random positions")
load.add_argument("--callers", type=int, default=32)
load.add_argument("--rows", type=int, default=4096, help="all of them are one batch")
load.add_argument("--backend", default="grove", choices=["grove", "native"])
load.add_argument("--workers", type=int, default=1, help="processes that make the proofs; 0: the service makes them")
load.add_argument("--idle", type=int, default=0, help="connections that send nothing. They and the slow ones hold the places of other callers, but not those of probes")
load.add_argument("--slow", type=int, default=0, help="connections that send a request byte by byte")
load.add_argument("--flags", default="--gather 50 --keep 20 --max-connections 512", help="further flags of serve")
storm = drills.add_parser("storm", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
storm.add_argument("--requests", type=int, default=20000)
storm.add_argument("--callers", type=int, default=16)
storm.add_argument("--retries", type=int, default=3, help="times that a caller breaks off or repeats before it waits for an answer")
storm.add_argument("--backend", default="grove", choices=["grove", "native"])
storm.add_argument("--seed", type=int, default=1)
drills.add_parser("disk").add_argument("--mib", type=int, default=48, help="size of the file system")
size = drills.add_parser("start", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
size.add_argument("--gib", type=float, default=4, help="bytes of the rows. The database takes four times as much, and the drill ten times, on the disk of TMPDIR")
size.add_argument("--row", type=int, default=8192, help="bytes of a row")
size.add_argument("--kills", type=int, default=5)
drills.add_parser("operate")
args = parser.parse_args()
evergrove = os.path.abspath(args.evergrove)
processes = []
broken = []


def check(holds, what):
    if not holds:
        broken.append(what)
        print(f"BROKEN: {what}", file=sys.stderr, flush=True)


def run(*words, **options):
    """The JSON report of a command, or the last one of a list."""
    done = subprocess.run([evergrove, *words, "--format", "json"], capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"evergrove {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def start(command, log, environment=None, **options):
    with open(log, "a") as file:
        process = subprocess.Popen(command, stderr=file, env={**os.environ, **(environment or {})}, text=True, **options)
    processes.append(process)
    return process


class Service:
    """A service of a store."""

    def __init__(self, store, *flags, environment=None):
        self.log = os.path.join(logs, f"{os.path.basename(store)}.log")
        words = ["serve", "--store", store, "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0", "--format", "json", *flags]
        environment = {"EVERGROVE_SERVE_TOKEN": TOKEN, **(environment or {})}
        size = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        self.process = start([evergrove, *words], self.log, environment, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        with open(self.log) as file:
            file.seek(size)
            told = file.read()
        if not line:
            raise SystemExit(f"the service did not start: {told}")
        self.address = json.loads(line)["listening"]
        self.health = re.search(r"health at http://(\S+)", told).group(1)

    def get(self, path, health=False, timeout=60):
        request = urllib.request.Request(f"http://{self.health if health else self.address}{path}", headers=BEARER)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read()

    def json(self, path):
        return json.loads(self.get(path))

    def post(self, lines, key=None):
        """Status and answer of a request with changes."""
        headers = {**BEARER, "Content-Type": "application/x-ndjson", **({"Idempotency-Key": key} if key else {})}
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            connection.request("POST", "/v1/changes", "\n".join(map(json.dumps, lines)), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def wait(self, holds, seconds=300):
        end = time.monotonic() + seconds
        while True:
            status = self.json("/v1/status")
            if holds(status):
                return status
            if time.monotonic() > end:
                raise SystemExit(f"the service does not get there: {status}")
            time.sleep(0.05)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        check(self.process.returncode == 0, f"the service ended with {self.process.returncode}")


def fresh(status):
    return all(batch["fresh"] for batch in status["batches"])


def row(amount):
    return {"name": f"n{amount}", "amount": amount}


def table(store, rows, batch, backend, height=None):
    """A new store with a batch of its first rows, proven."""
    with open(f"{store}.csv", "w") as file:
        file.write("name,amount\n" + "".join(f"n{i},{i}\n" for i in range(rows)))
    with open(f"{store}.toml", "w") as file:
        file.write(SCHEMA)
    grow = ["--height", str(height)] if height else []
    run("commit", "--store", store, "--input", f"{store}.csv", "--schema", f"{store}.toml", *grow)
    profile = ["--profile", "paper"] if backend == "native" else []
    run("prove", "--store", store, "--batch", "all", "--indices", f"0-{batch - 1}", "--backend", backend, *profile)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def redis(directory):
    """The URL of a Redis server."""
    server = shutil.which("redis-server", path=f"{ROOT}/target/tools/redis/bin:{os.environ['PATH']}")
    if server is None:
        raise SystemExit("no redis-server: run make tools")
    port = free_port()
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction"]
    start([server, *words, "--requirepass", PASSWORD, "--dir", directory], f"{directory}/redis.log", stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return f"redis://127.0.0.1:{port}"
        time.sleep(0.05)
    raise SystemExit("Redis does not answer")


def quantiles(times, digits=1, factor=1000):
    times = sorted(times)
    at = lambda q: round(factor * times[min(len(times) - 1, int(q * len(times)))], digits) if times else None
    return {"p50": at(0.5), "p99": at(0.99), "max": at(1)}


def memory(process):
    """Resident memory of a process in MiB: now, and its peak."""
    with open(f"/proc/{process.pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return [round(int(fields[name].split()[0]) / 1024) for name in ("VmRSS", "VmHWM")]


def drill_load(directory):
    soft = args.idle + args.slow + 1000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard), hard))
    store = f"{directory}/s"
    table(store, args.rows, args.rows, args.backend)
    environment, flags = {}, args.flags.split()
    if args.workers:
        queue, environment = redis(directory), {"EVERGROVE_REDIS_PASSWORD": PASSWORD}
        shared = [f"--objects=file://{directory}/objects"]
        flags += ["--engine", queue, *shared]
        for n in range(args.workers):
            start([evergrove, "worker", "--redis", queue, *shared, "--name", f"w{n}"], f"{directory}/w{n}.log", environment)
    service = Service(store, *flags, environment=environment)

    waits, answers, epochs, late = [], {}, {}, [0]
    ages, probes, proofs, lock = [], [], [], threading.Lock()
    begin = time.monotonic() + 1
    end, interval, following = begin + args.seconds, args.per_request / args.rate, [0]
    over = threading.Event()

    def call(caller):
        connection, choose = http.client.HTTPConnection(service.address, timeout=120), random.Random(caller)
        while True:
            with lock:
                n, following[0] = following[0], following[0] + 1
            due = begin + n * interval
            if max(due, time.monotonic()) > end:
                return
            time.sleep(max(0, due - time.monotonic()))
            lines = [{"set": position, "row": row(n)} for position in choose.sample(range(args.rows), args.per_request)]
            sent = time.monotonic()
            connection.request("POST", "/v1/changes", "\n".join(map(json.dumps, lines)), {**BEARER, "Content-Type": "application/x-ndjson"})
            answer = connection.getresponse()
            body, done = answer.read(), time.monotonic()
            if answer.status != 200:
                connection.close()
            with lock:
                answers[answer.status] = answers.get(answer.status, 0) + 1
                late[0] += sent - due > 0.1
                if answer.status == 200:
                    waits.append(done - sent)
                    epochs.setdefault(json.loads(body)["epoch"], done)

    def follow():
        request = urllib.request.Request(f"http://{service.address}/v1/events", headers=BEARER)
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=600) as stream:
            name = ""
            for line in stream:
                line = line.decode().strip()
                name = line[6:].strip() if line.startswith("event:") else name
                if line.startswith("data:") and name == "proof":
                    told = json.loads(line[5:])
                    proofs.append((told["epoch"], told["seconds"], time.monotonic()))

    def probe():
        while not over.wait(0.25):
            for path in ("/healthz", "/readyz", "/metrics"):
                asked = time.monotonic()
                try:
                    service.get(path, health=True, timeout=10)
                    probes.append(time.monotonic() - asked)
                except OSError as error:
                    check(False, f"{path} was not answered: {error}")

    held = []

    def hold():
        """Connections beyond those that the service takes wait in the backlog of its socket, or are refused there."""
        host, port = service.address.split(":")
        for n in range(args.idle + args.slow):
            if over.is_set():
                return
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((host, int(port)))
            held.append(s)
            if n % 100 == 0:
                time.sleep(0.01)
        while not over.wait(1):
            for n, s in enumerate(held[args.idle:]):
                with contextlib.suppress(OSError):
                    s.send(b"G" if n % 2 else b"GET /v1/status HTTP/1.1\r\nx-")

    def measure_age():
        """The age of the last proof: the time since the commit of the first epoch that it does not show."""
        while not over.wait(0.25):
            proven = max((epoch for epoch, _, _ in list(proofs)), default=None)
            with lock:
                next_ones = [at for epoch, at in epochs.items() if proven is not None and epoch > proven]
            if proven is not None:
                ages.append(time.monotonic() - min(next_ones) if next_ones else 0.0)

    threads = [threading.Thread(target=work, daemon=True) for work in (follow, probe, measure_age)]
    threads.append(threading.Thread(target=hold, daemon=True))
    callers = [threading.Thread(target=call, args=(n,)) for n in range(args.callers)]
    for thread in threads + callers:
        thread.start()
    for thread in callers:
        thread.join()
    took = time.monotonic() - begin
    over.set()
    for s in held:
        s.close()
    check(service.process.poll() is None, "the service has ended")
    check(set(answers) == {200}, f"answers other than 200: {answers}")
    now, peak = memory(service.process)
    service.wait(fresh, 600)
    status = service.json("/v1/status")
    run_verify(service, directory)
    service.stop()
    updates = [seconds for _, seconds, at in proofs if begin < at < begin + took]
    median = lambda values: round(sorted(values)[len(values) // 2], 2) if values else None
    return {
        "rate": args.rate, "per_request": args.per_request, "callers": args.callers, "seconds": round(took, 1),
        "accepted_per_s": round(len(waits) * args.per_request / took, 1), "answers": answers, "sent_late": late[0],
        "answer_ms": quantiles(waits), "epochs": len(epochs), "refreshes": len(updates), "update_s": median(updates), "age_s": median(ages),
        "age_in_updates": round(median(ages) / median(updates), 2) if ages and updates else None,
        "memory_mib": now, "peak_memory_mib": peak, "idle": args.idle, "slow": args.slow, "probes": len(probes),
        "probe_ms": quantiles(probes), "epoch": status["epoch"], "backend": args.backend, "workers": args.workers,
    }


def run_verify(service, directory):
    """Checks the last proof as a verifier does, with the commitment of the epoch that it names."""
    proof = f"{directory}/last.proof"
    with open(proof, "wb") as file:
        file.write(service.get("/v1/batches/all/proof"))
    status = service.json("/v1/status")
    accept = ["--allow-backend", "native"] if status["batches"][0]["backend"] == "native" else []
    report = run("verify", "--proof", proof, "--root", status["commitment"], *accept)
    check(report["accepted"], "the last proof is refused")


def drill_storm(directory):
    """Request n deletes row n, which no other request names, and sets a row that all callers share. A request that is made
    twice is refused the second time, because its row is gone."""
    store, shared = f"{directory}/s", 64
    table(store, shared + args.requests, shared, args.backend)
    service, lock, over = [Service(store, "--max-waiting", "256")], threading.Lock(), threading.Event()
    done, kills, broke_off, repeated, replayed = {}, [0], [0], [0], [0]
    following = iter(range(args.requests))

    def send(address, n, give_up):
        body = "\n".join(map(json.dumps, [{"delete": shared + n}, {"set": n % shared, "row": row(n)}]))
        connection = http.client.HTTPConnection(address, timeout=30)
        try:
            connection.request("POST", "/v1/changes", body, {**BEARER, "Idempotency-Key": f"r{n}"})
            if give_up:
                time.sleep(give_up)
                return None
            answer = connection.getresponse()
            replayed[0] += answer.getheader("idempotency-replayed") == "true"
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def call(caller):
        choose = random.Random(args.seed * 1000 + caller)
        while True:
            with lock:
                n = next(following, None)
            if n is None:
                return
            tries = 0
            while n not in done:
                if over.is_set():
                    return
                give_up = choose.random() * 0.02 if tries < args.retries and choose.random() < 0.3 else 0
                broke_off[0] += give_up > 0
                repeated[0] += tries > 0
                tries += 1
                try:
                    answer = send(service[0].address, n, give_up)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)
                    continue
                if answer is None or answer[0] in (429, 503):
                    time.sleep(0.02)
                elif answer[0] == 200:
                    done[n] = answer[1]
                else:
                    check(False, f"request {n}, sent {tries} times: {answer}")
                    done[n] = None

    def kill():
        choose = random.Random(args.seed)
        while not over.wait(0.3 + 2 * choose.random()):
            service[0].kill()
            kills[0] += 1
            try:
                service[0] = Service(store, "--max-waiting", "256")
            except SystemExit as error:
                check(False, str(error))
                over.set()

    began = time.monotonic()
    killer, callers = threading.Thread(target=kill), [threading.Thread(target=call, args=(n,)) for n in range(args.callers)]
    for thread in [killer, *callers]:
        thread.start()
    for thread in callers:
        thread.join()
    over.set()
    killer.join()
    took = time.monotonic() - began
    answered = {n: answer for n, answer in done.items() if answer}
    status = service[0].wait(fresh, 600)
    check(kills[0] > 0 and replayed[0] > 0, f"{kills[0]} kills and {replayed[0]} repeated answers: send more requests")
    check(len(answered) == args.requests, f"{args.requests - len(answered)} requests were not made")
    check(status["rows"] == shared, f"{status['rows'] - shared} acknowledged changes are lost")
    last = {}
    for n, answer in answered.items():
        last.setdefault((n % shared), []).append((answer["epoch"], n))
    # The outcome by the key is the answer.
    for n in random.Random(0).sample(sorted(answered), min(500, len(answered))):
        check(service[0].json(f"/v1/changes/r{n}") == answered[n], f"the outcome of request {n} has changed")
    epochs = {answer["epoch"]: answer["commitment"] for answer in answered.values()}
    for epoch, commitment in epochs.items():
        check(service[0].json(f"/v1/epochs/{epoch}")["commitment"] == commitment, f"epoch {epoch} is lost")
    # A shared row has the value of one of the requests of the last epoch that set it.
    rows = [json.loads(line) for line in service[0].get("/v1/batches/all/rows").splitlines()]
    for found in rows:
        made = last.get(found["index"])
        newest = max(made)[0] if made else None
        check(made is None or found["amount"] in {n for epoch, n in made if epoch == newest}, f"row {found['index']} is older than an acknowledged one")
    run_verify(service[0], directory)
    service[0].stop()
    return {
        "requests": args.requests, "acknowledged": len(answered), "seconds": round(took, 1), "kills": kills[0], "broken_off": broke_off[0],
        "repeated": repeated[0], "replayed": replayed[0], "epochs": len(epochs), "epoch": status["epoch"], "backend": args.backend,
    }


def drill_disk(directory):
    small = f"{directory}/small"
    os.mkdir(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={args.mib}m", "none", small], check=True)
    try:
        return on_small_disk(small)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        subprocess.run(["umount", small], check=True)


def on_small_disk(small):
    store, ballast = f"{small}/s", f"{small}/ballast"
    table(store, 256, 64, "grove")
    service = Service(store)
    for n in range(20):
        status, answer = service.post([{"set": position, "row": row(n)} for position in range(256)])
        check(status == 200, f"{answer}")
    before = service.wait(fresh)["epoch"]
    with open(ballast, "wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65536))
            file.flush()
    # The file system is full to its last block.
    statuses, made = [], 0
    for n in range(2000):
        status, _ = service.post([{"set": n % 256, "row": row(1000 + n)}])
        statuses.append(status)
        made += status == 200
        if statuses[-3:] == [507] * 3:
            break
    check(set(statuses) <= {200, 507} and statuses[-1] == 507, f"answers on the full disk: {sorted(set(statuses))}")
    status = service.json("/v1/status")
    check(status["disk_full"] and status["epoch"] == before + made, f"epoch {status['epoch']} after {made} changes")
    # Errors would be raised here.
    for path in ("/v1/openings/3", "/v1/epochs", "/v1/batches/all/proof"):
        service.get(path)
    service.get("/readyz", health=True)
    # Without room the process can be killed and started again, and the store pruned.
    service.kill()
    service = Service(store)
    check(service.json("/v1/status")["epoch"] == before + made, "the epoch after kill -9 on the full disk")
    service.stop()
    pruned = run("prune", "--store", store, "--keep", "1")
    service = Service(store)
    status, answer = service.post([{"set": 5, "row": row(5)}])
    check(status == 200, f"a change after the store was pruned on the full disk: {status} {answer}")
    os.remove(ballast)
    status, answer = service.post([{"set": 6, "row": row(6)}])
    check(status == 200, f"a change after room was made: {status} {answer}")
    status = service.wait(fresh)
    check(not status["disk_full"], "disk_full stays")
    run_verify(service, small)
    service.stop()
    return {
        "mib": args.mib, "changes_until_full": made, "refused": statuses.count(507), "pruned_epochs": pruned.get("epochs"),
        "epoch": status["epoch"],
    }


def forget(path):
    """Takes a file out of the system's cache."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def interrupted(change):
    with contextlib.suppress(OSError, http.client.HTTPException):
        change()


def drill_start(directory):
    store, rows, filler = f"{directory}/s", int(args.gib * 2**30 / args.row), "x" * (args.row - 12)
    times, clock = {}, [time.monotonic()]

    def lap(name):
        times[name] = round(time.monotonic() - clock[0], 2)
        clock[0] = time.monotonic()

    with open(f"{store}.csv", "w") as file:
        file.write("name,amount\n")
        for n in range(rows):
            file.write(f"{filler}{n:012},{n}\n")
    with open(f"{store}.toml", "w") as file:
        file.write(SCHEMA)
    clock[0] = time.monotonic()
    run("commit", "--store", store, "--input", f"{store}.csv", "--schema", f"{store}.toml")
    lap("commit")
    os.remove(f"{store}.csv")
    run("prove", "--store", store, "--batch", "all", "--indices", "0-63", "--backend", "grove")
    database = f"{store}/evergrove.redb"
    choose, starts, changes, commits, epoch = random.Random(1), [], [], [], 0
    for _ in range(args.kills + 1):
        forget(database)
        asked = time.monotonic()
        service = Service(store)
        service.get("/readyz", health=True)
        starts.append(time.monotonic() - asked)
        change = lambda: service.post([{"set": choose.randrange(rows), "row": row(n)} for n in range(10)])
        check(service.json("/v1/status")["epoch"] >= epoch, "an acknowledged epoch is lost")
        status, answer = change()
        changes.append(time.monotonic() - asked)
        check(status == 200, f"{answer}")
        for _ in range(20):
            sent = time.monotonic()
            status, answer = change()
            commits.append(time.monotonic() - sent)
            check(status == 200, f"{answer}")
        epoch = answer["epoch"]
        # A change is being made while the process is killed.
        late = threading.Thread(target=interrupted, args=(change,))
        late.start()
        time.sleep(choose.random() * 0.02)
        service.kill()
        late.join()
    service = Service(store)
    before = memory(service.process)[1]
    clock[0] = time.monotonic()
    backup = f"{store}.backup"
    made = run("backup", "--url", f"http://{service.address}", "--out", backup, env={**os.environ, "EVERGROVE_SERVE_TOKEN": TOKEN})
    lap("backup")
    peak = memory(service.process)[1]
    service.stop()
    clock[0] = time.monotonic()
    restored = run("restore", backup, "--store", f"{store}.restored")
    lap("restore")
    check(restored["commitment"] == made["commitment"], "the restored commitment")
    return {
        "rows": rows, "database_bytes": os.path.getsize(database), "backup_bytes": os.path.getsize(backup), "seconds": times,
        "kills": args.kills + 1, "start_after_kill_s": quantiles(starts[1:], 3, 1), "first_change_after_s": quantiles(changes[1:], 3, 1),
        "change_ms": quantiles(commits), "peak_memory_mib": {"started": before, "backed up": peak}, "epoch": epoch,
    }


def compose(name):
    """The words of a service's command in deploy/compose.yaml."""
    with open(f"{ROOT}/deploy/compose.yaml") as file:
        text = file.read()
    block = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M).group(1)
    return json.loads(re.search(r"^    command: (\[.*\])$", block, re.M).group(1))


def drill_operate(directory):
    queue, objects = redis(directory), f"file://{directory}/objects"
    os.mkdir(f"{directory}/objects")
    places = {"redis://redis:6379": queue, "s3://evergrove": objects, "0.0.0.0:9090": "127.0.0.1:0", "0.0.0.0:7070": "127.0.0.1:0"}
    secrets = {"EVERGROVE_REDIS_PASSWORD": PASSWORD}
    worker = lambda n: start([evergrove, *[places.get(word, word) for word in compose("worker")], "--lock", "5"], f"{directory}/w{n}.log", secrets)
    words = [places.get(word, word) for word in compose("serve")]
    at = words.index("--store") + 1
    flags = [word for n, word in enumerate(words[1:], 1) if n not in (at - 1, at) and words[n - 1] != "--listen" and word != "--listen"]
    times, clock = {}, [time.monotonic()]

    def lap(name):
        times[name] = round(time.monotonic() - clock[0], 2)
        clock[0] = time.monotonic()

    def drill(store, batch, column):
        """Serves, changes rows, kills a worker in the middle, backs up, restores, and verifies what is proven then."""
        service, workers = Service(store, *flags, environment=secrets), [worker(0), worker(1)]
        service.wait(fresh)
        lap(f"{batch}: started")
        rows = [json.loads(line) for line in service.get(f"/v1/batches/{batch}/rows").splitlines()][::16]
        change = lambda n: [{"set": row.pop("index"), "row": {**row, column: n}} for row in map(dict, rows)]
        status, done = service.post(change(7))
        check(status == 200, f"{done}")
        # A worker that holds a job.
        service.wait(lambda status: status["provers"]["running"] > 0)
        workers[0].kill()
        service.wait(fresh)
        lap(f"{batch}: proven after kill -9 of a worker")
        backup = f"{store}.backup"
        made = run("backup", "--url", f"http://{service.address}", "--out", backup, env={**os.environ, "EVERGROVE_SERVE_TOKEN": TOKEN})
        times[f"{batch}: backup bytes"] = os.path.getsize(backup)
        lap(f"{batch}: backed up")
        # A change after the backup is not in it.
        status, later = service.post(change(8))
        check(status == 200 and later["epoch"] > made["epoch"], f"{later}")
        service.kill()
        restored = run("restore", backup, "--store", f"{store}.restored")
        check(restored["commitment"] == made["commitment"] == done["commitment"], "the restored commitment")
        run("doctor", "--store", f"{store}.restored")
        lap(f"{batch}: restored and checked")
        service = Service(f"{store}.restored", *flags, environment=secrets)
        service.wait(fresh)
        status, done = service.post(change(9))
        status = service.wait(fresh)
        check(status["commitment"] == done["commitment"], "the commitment after the restore")
        proof = f"{store}.proof"
        with open(proof, "wb") as file:
            file.write(service.get(f"/v1/batches/{batch}/proof"))
        check(run("verify", "--proof", proof, "--root", done["commitment"])["accepted"], "the proof after the restore")
        lap(f"{batch}: proven and verified after the restore")
        service.stop()
        for process in workers[1:]:
            process.send_signal(signal.SIGTERM)
            check(process.wait() == 0, "a worker did not drain")

    store = f"{directory}/s"
    table(store, 4096, 1024, "grove")
    lap("all: committed and proven")
    drill(store, "all", "amount")

    # Version 0.1's store is read, migrated, and served.
    old, new = f"{directory}/old", f"{directory}/new"
    shutil.copytree(f"{ROOT}/vectors/frozen/v1/store", old)
    before = run("status", "--store", old)
    refused = subprocess.run([evergrove, "serve", "--store", old, "--no-token", "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=30)
    check(refused.returncode != 0 and "migrate" in refused.stderr, f"a store of version 0.1 is served: {refused.stderr}")
    migrated = run("migrate", "--store", old, "--to", new)
    check(migrated["commitment"] == before["commitment"], "the migrated commitment")
    for batch in run("status", "--store", new)["batches"]:
        if batch["name"] != "proven":
            run("batches", "--store", new, "--drop", batch["name"])
    lap("version 0.1: migrated")
    drill(new, "proven", "stock")
    return {"seconds": times}


threading.excepthook = lambda told: check(False, f"{told.exc_type.__name__}: {told.exc_value}")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with tempfile.TemporaryDirectory() as directory:
    logs = directory
    try:
        report = {"load": drill_load, "storm": drill_storm, "disk": drill_disk, "start": drill_start, "operate": drill_operate}[args.drill](directory)
    except BaseException:
        for log in glob.glob(f"{directory}/*.log"):
            with open(log, errors="replace") as file:
                print(f"--- {os.path.basename(log)}\n{file.read()[-2000:]}", file=sys.stderr)
        raise
    finally:
        for process in processes:
            process.kill()
            process.wait()
print(json.dumps({"drill": args.drill, **report, "broken": broken}))
sys.exit(bool(broken))
