#!/usr/bin/env python3
"""A second verifier, written from the documents: batch proofs of the backend `grove` (scheme evergrove1) and openings.

usage: verifier.py verify FILE --commitment TEXT [--key KEYFILE --key-digest HEX] [--rows CSV [--schema TOML]] [--format json]
       verifier.py key KEYFILE
       verifier.py self-test [--proofs DIR]
       verifier.py mutants FILE --mutants N --seed S  (and what verify takes)

Exit codes: 0 accepted, 1 refused, 2 wrong usage or unreadable input, 3 no key, hence no verdict.

Only the standard library is used. Sections follow the order of verification; each names the document that it follows. From the
Rust sources only Poseidon's round constants are read. Scalars are Python integers, elements of K are tuples.
"""
import argparse, csv, json, operator, random, re, struct, sys, time
from array import array
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Refusal(Exception):
    """A failure: one of CODES, and a sentence."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


CODES = {  # code: exit code
    "accepted": 0,
    "truncated": 1,  # the file ends early
    "trailing": 1,  # bytes or elements behind the end
    "magic": 1,
    "version": 1,
    "record": 1,  # a record that is unknown, missing, doubled or out of order
    "malformed": 1,  # a field with a value that no writer gives it
    "non-canonical": 1,  # an element of p or more
    "scheme": 1,
    "unsupported-backend": 1,
    "profile": 1,
    "height": 1,  # not the commitment's, or the wrong class
    "wrong-root": 1,
    "wrong-rows": 1,  # the canonical digest of the rows is not the proof's
    "wrong-key": 1,  # the key's bytes do not have the digest that was asked for, or the key is not of this profile
    "refused": 1,  # an equation of the proof does not hold
    "usage": 2,
    "unreadable": 2,
    "bad-rows": 2,
    "key-missing": 3,
}

# --------------------------------------------------------------------------------------------------------------------
# 1. The field and the hash (docs/formats.md, Conventions and Hashing)

P = 2**64 - 2**32 + 1
ROUND = [int(x, 16) for x in re.findall(r"0x[0-9a-f]{16}", (HERE / "../crates/primitives/src/hash/poseidon/constants.rs").read_text())]
CIRCULANT = [17, 15, 41, 16, 2, 28, 13, 13, 39, 18, 34, 20]
MATRIX = [[CIRCULANT[(i - r) % 12] + (8 if i == r == 0 else 0) for i in range(12)] for r in range(12)]
FULL, PARTIAL = 4, 22  # rounds: 4 full, 22 partial, 4 full


def dot(a, b):
    return sum(map(operator.mul, a, b))


def partial_forms():
    """The partial rounds as linear forms in (1, state before them, S-box results so far): one form for the input of each
    round's S-box, and twelve for the state behind the last round. 1, 12 and 22 coefficients, so a form is a list of 35."""
    size = 1 + 12 + PARTIAL
    state = [[int(j == 1 + i) for j in range(size)] for i in range(12)]
    inputs = []
    for r in range(PARTIAL):
        for i in range(12):
            state[i][0] = (state[i][0] + ROUND[12 * (FULL + r) + i]) % P
        inputs.append(state[0])
        state[0] = [int(j == 13 + r) for j in range(size)]
        state = [[sum(m * f[j] for m, f in zip(row, state)) % P for j in range(size)] for row in MATRIX]
    return inputs, state


INPUTS, OUTPUTS = partial_forms()
# What each round's S-box needs: only results of earlier rounds.
INPUTS_CUT = [form[: 13 + r] for r, form in enumerate(INPUTS)]


def full_round(s, r):
    s = [pow(x + c, 7, P) for x, c in zip(s, ROUND[12 * r : 12 * r + 12])]
    return [dot(row, s) % P for row in MATRIX]


def permute(s):
    """Plonky2's Poseidon permutation of twelve elements."""
    for r in range(FULL):
        s = full_round(s, r)
    s = [1, *s]
    for form in INPUTS_CUT:
        s.append(pow(dot(form, s), 7, P))
    s = [dot(form, s) % P for form in OUTPUTS]
    for r in range(FULL + PARTIAL, 2 * FULL + PARTIAL):
        s = full_round(s, r)
    return s


def tag(text):
    """Four ASCII letters as a big-endian number; a text of another length likewise."""
    return int.from_bytes(text.encode(), "big")


def f(message, capacity):
    """f(m; h): the first four elements of the permutation of (m, h)."""
    return permute([*message, *capacity])[:4]


def leaf(index, value):
    return f([index, *value, 0, 0, 0], [tag("LEAF"), 0, 0, 0])


def node(left, right):
    return f([*left, *right], [0] * 4)


NULL = [f([0] * 8, [tag("NULL"), 0, 0, 0])]
for _ in range(40):
    NULL.append(node(NULL[-1], NULL[-1]))


def sponge(elements, start):
    s = [0] * 8 + [start, 0, 0, 0]
    for i in range(0, len(elements), 8):
        block = elements[i : i + 8]
        s = permute(block + s[len(block) :])
    return s[:4]


def byte_sponge(data, domain):
    """Groups of seven bytes, the last one padded with zeros, at least one; the tag has domain and length."""
    groups = [int.from_bytes(data[i : i + 7], "little") for i in range(0, max(len(data), 1), 7)]
    return sponge(groups, (tag(domain) << 32) + len(data))


def canonical(leaves):
    """The canonical digest of (index, leaf digest), by increasing index (docs/concepts.md): while two neighbours are the only
    members of their common subtree, they become one; a stack does this in one pass."""
    stack = []  # (index, digest, level at which it meets the one below it on the stack)
    for index, digest in leaves:
        level = (stack[-1][0] ^ index).bit_length() if stack else 64
        while len(stack) > 1 and stack[-1][2] < level:
            (i, left, at), (_, right, _) = stack[-2], stack[-1]
            stack[-2:] = [(i, node(left, right), at)]
        stack.append((index, digest, level))
    while len(stack) > 1:
        (i, left, at), (_, right, _) = stack[-2], stack[-1]
        stack[-2:] = [(i, node(left, right), at)]
    return stack[0][1]


def root_of(height, leaves):
    """The root of the tree with these (index, leaf digest), all other slots empty."""
    level = dict(leaves)
    for h in range(height):
        level = {i >> 1: node(level.get(i & ~1, NULL[h]), level.get(i | 1, NULL[h])) for i in level}
    return level.get(0, NULL[height])


def digest_text(digest):
    return struct.pack("<4Q", *digest).hex()


# --------------------------------------------------------------------------------------------------------------------
# 2. Files (docs/formats.md: Conventions, Records, Commitment, Proof file, Opening)


class Bytes:
    """Reads a file from its start; what is not there is `truncated`, what is left over `trailing`."""

    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Refusal("truncated", f"{self.what} ends after {len(self.data)} bytes; {n} more expected at byte {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, n):
        return int.from_bytes(self.take(n), "little")

    def element(self):
        x = self.number(8)
        if x >= P:
            raise Refusal("non-canonical", f"{self.what}: {x} at byte {self.at - 8} is not below p")
        return x

    def elements(self, n):
        return [self.element() for _ in range(n)]

    def name(self):
        n = self.number(1)
        if not 1 <= n <= 32:
            raise Refusal("malformed", f"{self.what}: a name of {n} bytes (expected 1 to 32)")
        text = self.take(n)
        if not re.fullmatch(rb"[a-z0-9_-]+", text):
            raise Refusal("malformed", f"{self.what}: name {text!r} has other characters than a-z, 0-9, - and _")
        return text.decode()

    def end(self):
        if self.at != len(self.data):
            raise Refusal("trailing", f"{self.what}: {len(self.data) - self.at} bytes behind the end")


def records(data, magic, what):
    """Kind and content of the records of a file of version 2."""
    r = Bytes(data, what)
    found = r.take(4)
    if found != magic:
        raise Refusal("magic", f"{what} starts with {found!r} (expected {magic!r})")
    version = r.number(2)
    if version != 2:
        raise Refusal("version", f"{what} has format version {version} (expected 2)")
    out = {}
    while r.at < len(r.data):
        kind, version = r.number(1), r.number(1)
        if version != 1:
            raise Refusal("record", f"{what}: record {kind} has version {version} (expected 1)")
        if out and kind <= max(out):
            raise Refusal("record", f"{what}: record {kind} is out of order or stands there twice")
        out[kind] = Bytes(r.take(r.number(4)), f"{what}, record {kind}")
    return out


def demand_records(found, expected, what):
    if sorted(found) != sorted(expected):
        raise Refusal("record", f"{what} has records {sorted(found)} (expected {sorted(expected)})")


def commitment(text):
    """Height and root of `evergrove1:H:ROOT`."""
    m = re.fullmatch(r"evergrove1:([1-9][0-9]?):([0-9a-f]{64})", text, re.ASCII)
    if not m or int(m[1]) > 40:
        raise Refusal("usage", f"{text!r} is no commitment (expected evergrove1:HEIGHT:ROOT)")
    root = list(struct.unpack("<4Q", bytes.fromhex(m[2])))
    if max(root) >= P:
        raise Refusal("usage", "the commitment's root has an element that is not below p")
    return int(m[1]), root


PROFILES = ["proven", "johnson", "paper", "grove-100", "grove-128"]
BACKENDS = {"plonky2": (0, 1, 2), "grove": (3, 4), "native": (0, 1, 2, 3, 4)}
WITH_APPLICATION = ("evergrove1-selected", "evergrove1-complete", "evergrove1-tree")
SCHEMES = ("evergrove1", "reckle-paper", *WITH_APPLICATION)
KINDS = ["bucket", "merge", "wrap"]


def decode_proof(data):
    """The claims of a proof file, and its body as bytes."""
    found = records(data, b"EVGP", "proof")
    if 1 not in found:
        raise Refusal("truncated" if not found else "record", "proof without record 1")
    p, r = {}, found[1]
    p["scheme"], p["backend"], p["backend version"] = r.name(), r.name(), r.number(4)
    profile, p["class"], kind = r.number(1), r.number(1), r.number(1)
    r.end()
    if p["scheme"] not in SCHEMES:
        raise Refusal("scheme", f"unknown scheme {p['scheme']}")
    if p["backend"] not in BACKENDS:
        raise Refusal("unsupported-backend", f"unknown backend {p['backend']}")
    if profile not in BACKENDS[p["backend"]]:
        raise Refusal("profile", f"profile {profile} is none of the backend {p['backend']}")
    if p["class"] not in (27, 40) or kind > 2:
        raise Refusal("malformed", f"height class {p['class']} (expected 27 or 40), kind {kind} (expected 0 to 2)")
    p["profile"], p["kind"] = PROFILES[profile], KINDS[kind]
    with_application = p["scheme"] in WITH_APPLICATION
    demand_records(found, [1, 2, 3, 4] if with_application else [1, 2, 4], "proof")
    r = found[2]
    p["height"], p["base"], p["root"], p["canonical"] = r.number(1), r.number(8), r.elements(4), r.elements(4)
    r.end()
    if p["height"] > p["class"] or p["base"] % 2 ** p["height"] or p["base"] >= 2 ** p["class"]:
        raise Refusal("malformed", f"no node of height {p['height']} starts at {p['base']} in height class {p['class']}")
    if with_application:
        r = found[3]
        p["application"], p["parameters"] = r.name(), r.elements(4)
        rest = len(r.data) - r.at
        if rest % 8 or not 8 <= rest <= 8 * 65535:
            raise Refusal("malformed", f"an output of {rest} bytes")
        p["output"] = r.elements(rest // 8)
        if p["scheme"] != "evergrove1-selected" and any(p["canonical"]):
            raise Refusal("malformed", "a canonical digest in a proof about all rows")
    p["body"] = found[4].data
    return p


def decode_opening(data):
    found = records(data, b"EVGO", "opening")
    demand_records(found, [1, 2], "opening")
    r = found[1]
    height, index, filled = r.number(1), r.number(8), r.number(1)
    if not 1 <= height <= 40 or index >> height or filled > 1:
        raise Refusal("malformed", f"opening of slot {index} at height {height}, tag {filled}")
    value = r.elements(4) if filled else None
    r.end()
    path = [found[2].elements(4) for _ in range(height)]
    found[2].end()
    return {"height": height, "index": index, "value": value, "path": path}


def verify_opening(data, text):
    """h_0 is the leaf's digest or null_0, h_(l+1) the node of h_l and sibling l, bit l of the index says which is right."""
    height, root = commitment(text)
    o = decode_opening(data)
    if o["height"] != height:
        raise Refusal("height", f"opening of height {o['height']}, commitment of height {height}")
    h = leaf(o["index"], o["value"]) if o["value"] else NULL[0]
    for l, sibling in enumerate(o["path"]):
        h = node(sibling, h) if o["index"] >> l & 1 else node(h, sibling)
    if h != root:
        raise Refusal("wrong-root", f"the path leads to {digest_text(h)}, not to the commitment's root")
    what = f"holds the value {digest_text(o['value'])}" if o["value"] else "is empty"
    return {"kind": "opening", "index": o["index"], "filled": o["value"] is not None, "shown": [f"slot {o['index']} {what}"], "not_shown": []}
