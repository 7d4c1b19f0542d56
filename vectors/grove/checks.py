"""Checks of the verifier itself: mutants, known answers, frozen files."""
import json, random, struct
from pathlib import Path

from reference import P
from grove.argument import verify_up_to_fixed
from grove.field import NULL, canonical, digest_text, leaf, node, permute, root_of, sponge
from grove.files import decode_opening, decode_proof, verify_batch, verify_opening
from grove.key import Key, blake3
from grove.refusal import Bytes, CODES, Refusal, read_file
from grove.rows import read_table
from grove.transcript import Proof

HERE = Path(__file__).resolve().parent.parent


def mutant(data, random):
    """A proof file with one change, and what it is. The change is never none."""
    p = decode_proof(data)
    start = len(data) - len(p["body"])
    words = len(p["body"]) // 8
    kind = random.choice(["bit", "byte", "element", "element", "element", "zero", "swap", "p", "header", "header", "cut", "cut 8", "longer", "longer 8", "copy"])
    out, place = bytearray(data), start + 8 * random.randrange(words)
    if kind in ("bit", "byte"):
        place = random.randrange(len(data))
        out[place] ^= 1 << random.randrange(8) if kind == "bit" else random.randrange(1, 256)
    elif kind == "element":
        out[place : place + 8] = struct.pack("<Q", random.randrange(P))
    elif kind == "zero":
        out[place : place + 8] = bytes(8)
    elif kind == "p":  # the same element by another name
        x = int.from_bytes(out[place : place + 8], "little")
        out[place : place + 8] = struct.pack("<Q", x + P if x < 2**32 - 1 else random.randrange(P, 2**64))
    elif kind in ("swap", "copy"):
        other = start + 8 * random.randrange(words)
        a, b = data[place : place + 8], data[other : other + 8]
        out[other : other + 8] = a
        if kind == "swap":
            out[place : place + 8] = b
    elif kind == "header":
        place = random.randrange(start)
        out[place] = random.randrange(256)
    elif kind.startswith("cut"):
        n = 8 * random.randrange(1, words) if kind == "cut 8" else random.randrange(1, len(data))
        out = out[:-n]
        if kind == "cut 8":  # with the record's length, so that the body ends early
            out[start - 4 : start] = struct.pack("<I", 8 * words - n)
    else:
        n = 8 * random.randrange(1, 5) if kind == "longer 8" else random.randrange(1, 40)
        out += random.randbytes(n) if random.random() < 0.5 else bytes(n)
        if kind == "longer 8":
            out[start - 4 : start] = struct.pack("<I", 8 * words + n)
    if out == data:
        return mutant(data, random)
    return bytes(out), f"{kind} at {place - start}" if place >= start else f"{kind} at byte {place} of the header"


def run_mutants(data, text, count, seed, **given):
    """How often each code answered, by kind of change. Anything but a refusal is an error."""
    generator, table, wrong = random.Random(seed), {}, []
    for number in range(count):
        changed, what = mutant(data, generator)
        try:
            verify_batch(changed, text, **given)
            code = "ACCEPTED"
        except Refusal as e:
            code = e.code
        except Exception as e:  # a verifier answers with a code on any bytes
            code = f"CRASHED: {e!r}"
        if CODES.get(code) != 1:
            wrong.append((number, what, code))
        key = (what.split(" at ")[0], code)
        table[key] = table.get(key, 0) + 1
    return table, wrong


def expect(code, call, *args, **given):
    """Demands this code, or any that refuses."""
    try:
        call(*args, **given)
        found = "accepted"
    except Refusal as e:
        found = e.code
    if found != code and (code != "any" or CODES[found] not in (1, 3)):
        raise AssertionError(f"{found} where {code} is expected: {call.__name__}")


def edited(data, edits):
    """A file with the edits of a mutant: from byte `at` on, `removed` bytes are replaced, one edit after the other."""
    for at, removed, by in edits:
        data = data[:at] + bytes.fromhex(by) + data[at + removed :]
    return data


def self_test(folder, mutants):
    """Known answers, the frozen proofs and openings, and pairs of proof and key of a folder: NAME.proof, NAME.json, and the key
    file that NAME.json names. Of the mutants in NAME.json the first so many have the code that another verifier gave them."""
    done = {}

    def count(what, n=1):
        done[what] = done.get(what, 0) + n

    assert blake3(b"").hex().startswith("af1349b9f5f9a1a6a0404dea36dcc949")
    assert blake3(bytes(i % 251 for i in range(3072))).hex().startswith("b98cb0ff3623be03326b373de6b90952")
    known = json.loads((HERE / "hashing.json").read_text())
    unhex = lambda t: list(struct.unpack("<4Q", bytes.fromhex(t)))  # noqa: E731
    assert permute(list(range(12))) == [int(x) for x in known["permutation_of_0_to_11"]]
    for case in known["hash_no_pad"]:
        assert sponge([int(x) for x in case["input"]], 0) == unhex(case["digest"])
    for case in known["leaf"]:
        assert leaf(case["index"], [int(x) for x in case["value"]]) == unhex(case["digest"])
    for case in known["node"]:
        assert node(unhex(case["left"]), unhex(case["right"])) == unhex(case["digest"])
    assert NULL == [unhex(t) for t in known["null"]]
    leaves = lambda of: [(s["index"], leaf(s["index"], [int(x) for x in s["value"]])) for s in of]  # noqa: E731
    assert canonical(leaves(known["canonical"]["members"])) == unhex(known["canonical"]["digest"])
    c = known["commitment"]
    assert f"evergrove1:{c['height']}:{digest_text(root_of(c['height'], leaves(c['slots'])))}" == c["text"]
    count("known answers", 10 + len(known["hash_no_pad"]))

    for file in sorted((HERE / "frozen").glob("v*/*.bin")):
        data = file.read_bytes()
        if data[:4] not in (b"EVGO", b"EVGP"):
            continue
        if data[:4] == b"EVGO":
            o = decode_opening(data)
            h = leaf(o["index"], o["value"]) if o["value"] else NULL[0]
            for l, sibling in enumerate(o["path"]):
                h = node(sibling, h) if o["index"] >> l & 1 else node(h, sibling)
            text = f"evergrove1:{o['height']}:{digest_text(h)}"
            verify_opening(data, text)
            expect("height", verify_opening, data, text.replace(":3:", ":4:"))
            for i in range(len(data)):
                expect("any", verify_opening, data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :], text)
                expect("any", verify_opening, data[:i], text)
            expect("any", verify_opening, data + b"\0", text)
            count("openings that verify")
            count("changed openings that are refused", 2 * len(data) + 2)
        else:
            p = decode_proof(data)
            text = f"evergrove1:{p['height']}:{digest_text(p['root'])}"
            code = "unsupported-backend" if p["backend"] == "plonky2" else "key-missing"
            expect(code, verify_batch, data, text)
            count(f"frozen proofs: {code}")
            for i in range(len(data)):
                expect("any", verify_batch, data[:i], text)
            count("shortened proofs that are refused", len(data))

    keys = {}
    for file in sorted(Path(folder).glob("*.json")) if folder else []:
        try:
            about = json.loads(file.read_text())
            name, text = about["key"], about.get("commitment")
            if name not in keys:
                keys[name] = Key(read_file(file.parent / name), about["key_digest"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            raise Refusal("unreadable", f"{file}: {e!r}") from None
        if text is None:
            engine_test(keys[name], about, file.parent, count)
            continue
        data, rows = read_file(file.with_suffix(".proof")), None
        if "rows" in about:
            rows, _ = read_table(file.parent / about["rows"], "schema" in about and file.parent / about["schema"])
        verify_batch(data, text, key=keys[name], leaves=rows)
        count("proofs that verify")
        other = text[:-1] + ("0" if text[-1] != "0" else "1")
        expect("wrong-root", verify_batch, data, other, key=keys[name])
        expect("key-missing", verify_batch, data, text)
        count("proofs for another root, without a key", 2)
        for mutant in about.get("mutants", [])[:mutants]:
            expect(mutant["code"], verify_batch, edited(data, mutant["edits"]), text, key=keys[name])
            count("mutants with the same code")
        if rows:
            expect("wrong-rows", verify_batch, data, text, key=keys[name], leaves=rows[1:])
            count("proofs about other rows")
    return done


def engine_test(key, about, folder, count):
    """Proofs of any circuit up to the claim about its fixed columns: `statement` has the words and the circuit that the transcript
    begins with, `honest` a file of elements that is accepted, `false` files that are refused."""
    digest, circuit, public = about["statement"]
    for name in [about["honest"], *about["false"]]:
        body = Bytes(read_file(folder / name), name)
        proof = Proof(key.K, body.elements(len(body.data) // 8))
        if name == about["honest"]:
            verify_up_to_fixed(proof, key, digest, circuit, public)
        else:
            expect("refused" if name != "longer" else "trailing", verify_up_to_fixed, proof, key, digest, circuit, public)
        count("proofs of the engine that verify" if name == about["honest"] else "false proofs of the engine that are refused")
