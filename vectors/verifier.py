#!/usr/bin/env python3
"""A second verifier, which follows the documents: batch proofs and outputs of the backend `grove`, and openings.

usage: verifier.py verify FILE --commitment TEXT [--key KEYFILE] [--key-digest HEX] [--rows CSV [--schema TOML]]
                   [--application NAME:DIGEST [--inputs LIST]] [--mutants N [--seed S]] [--format json]
       verifier.py key KEYFILE
       verifier.py --self-test [--proofs DIR [--mutants N]]

Exit codes: 0 accepted, 1 refused, 2 wrong usage or unreadable input, 3 no key, hence no verdict.

Only the standard library is used. This file has the command line; the modules of `grove` do the work, and each names the document
that it follows. `files` decides what a file claims and whether a reader may accept it. `argument`, on `field`, `key`, `tables` and
`transcript`, decides whether a proof holds. `rows` reads csv files, `checks` has the self-test and mutants. From the Rust sources
only Poseidon's round constants are read.
"""
import argparse, json, re, struct, sys, time
from pathlib import Path

from reference import P
from grove.checks import run_mutants, self_test
from grove.field import digest_text
from grove.files import commitment, decode_proof, verify
from grove.key import Key, PINNED, blake3
from grove.refusal import CODES, Refusal, read_file
from grove.rows import read_table, schema_digest


def trusted(a):
    """What verify takes beside the file and the commitment."""
    out = {}
    # A missing key is an error of its own, after all that needs no key.
    if a.key and Path(a.key).exists():
        out["key_bytes"] = read_file(a.key)
    if a.key_digest is not None:
        if not re.fullmatch(r"[0-9a-f]{64}", a.key_digest):
            raise Refusal("usage", "--key-digest expects 64 hexadecimal characters in lower case")
        out["key_digest"] = a.key_digest
    if a.application:
        m = re.fullmatch(r"([a-z0-9_-]{1,32}):([0-9a-f]{64})", a.application, re.ASCII)
        if not m or not re.fullmatch(r"([0-9]{1,20}(,[0-9]{1,20})*)?", a.inputs, re.ASCII):
            raise Refusal("usage", "--application expects NAME:DIGEST of its parameters, --inputs elements with commas between them")
        inputs = [int(x) for x in a.inputs.split(",") if x]
        if any(x >= P for x in inputs):
            raise Refusal("usage", "--inputs has an element that is not below p")
        out["application"] = (m[1], list(struct.unpack("<4Q", bytes.fromhex(m[2]))), inputs)
    if a.rows:
        out["leaves"], columns = read_table(a.rows, a.schema)
        out["schema_digest"] = digest_text(schema_digest(columns))
    return out


def run(a):
    if a.self_test:
        try:
            return {"code": "accepted", "shown": [f"{n} {what}" for what, n in self_test(a.proofs, a.mutants).items()]}
        except AssertionError as e:
            raise Refusal("refused", f"the self-test failed: {e}") from e
    if a.command == "key":
        data = read_file(a.file)
        digest = digest_text([x % P for x in struct.unpack("<4Q", blake3(data))])
        key = Key(data, digest)
        return {"code": "accepted", "digest": digest, "shown": [
            f"key digest {digest}", f"extension of degree {key.K.D}, blocks {key.blocks}, bus of 2^{key.layout.bus_variables} places",
            f"stack of 2^{key.variables} in {key.width} columns, oracles {key.rounds}"]}  # fmt: skip
    given = trusted(a)
    schema = given.pop("schema_digest", None)
    data = read_file(a.file)
    commitment(a.commitment)
    out = {"code": "accepted"} | verify(data, a.commitment, **given) | ({"schema_digest": schema} if schema else {})
    if a.mutants and data[:4] != b"EVGO":
        if "key_bytes" in given:
            p = decode_proof(data)
            given["key"] = Key(given.pop("key_bytes"), given.pop("key_digest", None) or PINNED[p["profile"], p["class"]])
        table, wrong = run_mutants(data, a.commitment, a.mutants, a.seed, **given)
        out["mutants"] = {f"{kind}: {code}": n for (kind, code), n in sorted(table.items())}
        out["shown"].append(f"{a.mutants - len(wrong)} of {a.mutants} mutants are refused")
        out["shown"] += [f"mutants, {what}: {n}" for what, n in out["mutants"].items()]
        if wrong:
            out |= {"code": "refused", "sentence": f"mutants that are not refused: {wrong}"}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--proofs", help="with --self-test: a directory of NAME.json and NAME.proof")
    parser.add_argument("--mutants", type=int, default=10**9, help="with --proofs: the most mutants of a proof, all if not given")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    commands = parser.add_subparsers(dest="command")
    for name in ("verify", "key"):
        p = commands.add_parser(name)
        p.add_argument("file")
        p.add_argument("--format", choices=["text", "json"], default="text")
        if name == "verify":
            p.add_argument("--commitment", required=True)
            for flag in ("--key", "--key-digest", "--rows", "--schema", "--application"):
                p.add_argument(flag)
            p.add_argument("--inputs", default="")
            p.add_argument("--mutants", type=int, default=0)
            p.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    if not a.self_test and not a.command:
        parser.error("expected verify, key or --self-test")
    start = time.monotonic()
    try:
        out = run(a)
    except Refusal as e:
        out = {"code": e.code, "sentence": e.sentence}
    out["seconds"] = round(time.monotonic() - start, 2)
    status = CODES[out["code"]]
    if a.format == "json":
        print(json.dumps({"accepted": status == 0} | out))
    else:
        verdict = {0: "accepted", 1: "refused", 2: "error", 3: "no verdict"}[status]
        sentence = out.get("sentence")
        print(verdict if not sentence else f"{verdict} ({out['code']}): {sentence}")
        for what in ("shown", "not_shown"):
            for line in out.get(what, []):
                print(f"  {what.replace('_', ' ')}: {line}")
        print(f"  {out['seconds']} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
