#!/usr/bin/env python3
"""A second verifier, which follows the documents: batch proofs and outputs of the backend `grove`, and openings.

usage: verifier.py verify FILE --commitment TEXT [--key KEYFILE] [--key-digest HEX] [--rows CSV [--schema TOML]]
                   [--application NAME:DIGEST [--inputs LIST]] [--mutants N [--seed S]] [--format json]
       verifier.py key KEYFILE
       verifier.py --self-test [--proofs DIR]

Exit codes: 0 accepted, 1 refused, 2 wrong usage or unreadable input, 3 no key, hence no verdict.

Only the standard library is used. Sections follow the order of verification, and each names the document that it follows. From
the Rust sources only Poseidon's round constants are read.
"""
import argparse, csv, io, json, operator, random, re, struct, sys, time
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
    "application": 1,  # another application, or parameters, than asked for
    "unsupported-tables": 1,  # a key with tables that are not known here
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

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        if self.at != len(self.data):
            raise Refusal("trailing", f"{self.what}: {len(self.data) - self.at} bytes behind the end")


class Fields(Bytes):
    """A file of version 1: the fields of all records in their order, the body with its length."""

    def end(self):
        pass

    def rest(self):
        n = self.number(4)
        body = self.take(n)
        super().end()
        return body


def records(data, magic, what):
    """Kind and content of the records of a file of version 2; of version 1, one reader for all."""
    r = Bytes(data, what)
    found = r.take(4)
    if found != magic:
        raise Refusal("magic", f"{what} starts with {found!r} (expected {magic!r})")
    version = r.number(2)
    if version == 1:
        flat = Fields(data, what)
        flat.at = r.at
        return dict.fromkeys(range(1, 5), flat)
    if version != 2:
        raise Refusal("version", f"{what} has format version {version} (expected 1 or 2)")
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
    if sorted(found) != expected and not isinstance(found[1], Fields):
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
        rest = 8 * r.number(2) if isinstance(r, Fields) else len(r.data) - r.at
        if rest % 8 or not 8 <= rest <= 8 * 65535:
            raise Refusal("malformed", f"an output of {rest} bytes")
        p["output"] = r.elements(rest // 8)
        r.end()
        if p["scheme"] != "evergrove1-selected" and any(p["canonical"]):
            raise Refusal("malformed", "a canonical digest in a proof about all rows")
    p["body"] = found[4].rest()
    return p


def decode_opening(data):
    found = records(data, b"EVGO", "opening")
    if 1 not in found:
        raise Refusal("truncated" if not found else "record", "opening without record 1")
    demand_records(found, [1, 2], "opening")
    r = found[1]
    height, index, filled = r.number(1), r.number(8), r.number(1)
    if not 1 <= height <= 40 or index >> height or filled > 1:
        raise Refusal("malformed", f"opening of slot {index} at height {height}, tag {filled}")
    value = r.elements(4) if filled else None
    r.end()
    path = [found[2].elements(4) for _ in range(height)]
    Bytes.end(found[2])
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


# --------------------------------------------------------------------------------------------------------------------
# 3. The field K (docs/formats.md, Conventions)


class Extension:
    """An element of K = F[X] of degree D by its coefficients, that of 1 first. Integers stand for elements of F."""

    __slots__ = ("c",)

    def __init__(self, c):
        self.c = c

    @classmethod
    def of(cls, x):
        return cls((x % P, *[0] * (cls.D - 1)))

    @classmethod
    def sum(cls, terms):
        return cls(tuple(sum(c) % P for c in zip(*(t.c for t in terms)))) if terms else cls.of(0)

    def __add__(self, other):
        return type(self)(tuple((a + b) % P for a, b in zip(self.c, other.c)))

    def __sub__(self, other):
        return type(self)(tuple((a - b) % P for a, b in zip(self.c, other.c)))

    def __neg__(self):
        return type(self)(tuple(-a % P for a in self.c))

    def __eq__(self, other):
        return self.c == other.c

    def __rmul__(self, k):
        return type(self)(tuple(a * k % P for a in self.c))

    def pow7(self):
        cube = self * self * self
        return cube * cube * self


class Quadratic(Extension):
    """X^2 = 7."""

    __slots__ = ()
    D = 2

    def __mul__(self, other):
        (a, b), (c, d) = self.c, other.c
        return Quadratic(((a * c + 7 * b * d) % P, (a * d + b * c) % P))


class Cubic(Extension):
    """X^3 = X + 1, hence X^4 = X^2 + X."""

    __slots__ = ()
    D = 3

    def __mul__(self, other):
        (a, b, c), (d, e, f) = self.c, other.c
        p3, p4 = b * f + c * e, c * f
        return Cubic(((a * d + p3) % P, (a * e + b * d + p3 + p4) % P, (a * f + b * e + c * d + p4) % P))


def horner(values, x):
    """The sum of values[i] x^i."""
    total = values[-1]
    for v in reversed(values[:-1]):
        total = total * x + v
    return total


def eq_table(K, r):
    """eq(r, i) for all i, bit j of i against coordinate j."""
    table = [K.of(1)]
    for x in r:
        high = [t * x for t in table]
        table = [t - h for t, h in zip(table, high)] + high
    return table


def eq(K, a, b):
    """The product of a_i b_i + (1 - a_i)(1 - b_i)."""
    total = K.of(1)
    for x, y in zip(a, b):
        both = x * y
        total = total * (K.of(1) - x - y + both + both)
    return total


def combine(K, coefficients, values):
    """The sum of coefficients in F times values in K."""
    return K(tuple(dot(coefficients, c) % P for c in zip(*(v.c for v in values))))


# --------------------------------------------------------------------------------------------------------------------
# 4. The key (docs/formats.md, Key file of grove)

LANE_MASK = 0xFFFFFFFF
BLAKE3_IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
BLAKE3_PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8


def blake3_compress(ones, h, m, counter, length, flags):
    """BLAKE3's compression of many blocks at once. Each word is an integer whose lanes of 64 bits are the words of 32 bits of
    the blocks; `ones` has a 1 in each lane. h: 8 words, m: 16 words, counter: a word; length and flags are the same for all."""
    mask = ones * LANE_MASK
    v = [*h, *(ones * c for c in BLAKE3_IV[:4]), counter, 0, ones * length, ones * flags]

    def turn(x, n):
        return ((x >> n) | (x << (32 - n))) & mask

    def g(a, b, c, d, x, y):
        v[a] = (v[a] + v[b] + x) & mask
        v[d] = turn(v[d] ^ v[a], 16)
        v[c] = (v[c] + v[d]) & mask
        v[b] = turn(v[b] ^ v[c], 12)
        v[a] = (v[a] + v[b] + y) & mask
        v[d] = turn(v[d] ^ v[a], 8)
        v[c] = (v[c] + v[d]) & mask
        v[b] = turn(v[b] ^ v[c], 7)

    for _ in range(7):
        for i in range(4):
            g(i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            g(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = [m[i] for i in BLAKE3_PERMUTATION]
    return [v[i] ^ v[8 + i] for i in range(8)]


def lanes(words):
    return int.from_bytes(array("Q", words).tobytes(), "little")


def unlanes(x, n):
    return array("Q", x.to_bytes(8 * n, "little")).tolist()


def blake3(data):
    """The 32 bytes of BLAKE3: chunks of 1,024 bytes side by side, then their tree level by level."""
    full = max(len(data) - 1, 0) // 1024  # chunks but the last one
    words = array("I", data[: 1024 * full])
    values = []  # chaining values: lists of eight words
    if full:
        ones = lanes([1] * full)
        h = [ones * c for c in BLAKE3_IV]
        for block in range(16):
            m = [lanes(words[16 * block + i :: 256]) for i in range(16)]
            flags = (CHUNK_START if block == 0 else 0) | (CHUNK_END if block == 15 else 0)
            h = blake3_compress(ones, h, m, lanes(range(full)), 64, flags)
        values = [list(v) for v in zip(*(unlanes(x, full) for x in h))]
    last, h = data[1024 * full :], BLAKE3_IV
    blocks = [last[i : i + 64] for i in range(0, max(len(last), 1), 64)]
    for i, block in enumerate(blocks):
        m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
        end = (CHUNK_END | (0 if values else ROOT)) if i + 1 == len(blocks) else 0
        h = blake3_compress(1, h, m, full, len(block), (CHUNK_START if i == 0 else 0) | end)
    values.append(h)
    while len(values) > 1:
        n, flags = len(values) // 2, PARENT | (ROOT if len(values) == 2 else 0)
        ones = lanes([1] * n)
        m = [lanes([values[2 * j + i // 8][i % 8] for j in range(n)]) for i in range(16)]
        parents = blake3_compress(ones, [ones * c for c in BLAKE3_IV], m, 0, 64, flags)
        values = [list(v) for v in zip(*(unlanes(x, n) for x in parents))] + values[2 * n :]
    return struct.pack("<8I", *values[0])


TABLES = ["permutation", "operation", "dot", "query", "bits", "constant", "tuple", "sponge", "range"]
ALL_TABLES = 15
SCHEDULES = {  # of each oracle: fold, rate, queries, cap, work, samples
    "grove-100": (Quadratic, [(7, 1, 208, 9, 14, 0), (4, 2, 128, 8, 14, 0), (4, 5, 91, 8, 14, 0), (2, 8, 87, 8, 14, 0)]),
    "grove-128": (Cubic, [(7, 2, 113, 8, 16, 1), (4, 4, 57, 7, 16, 1), (4, 7, 33, 7, 16, 1)]),
}
PINNED = {
    ("grove-100", 27): "1c6c953565db8932f6e37397b08ebf28a77bcf5638bf4b26a234f8ddb8ecd37a",
    ("grove-100", 40): "fdf3115bd7b071bcdcbf797692691ca2defa2550c8469cf34ea0fe6b5584295d",
    ("grove-128", 27): "2f3d5f6df4c71a2f939240f17479d4ba7e2aaa4a7d9c7d3c2df17f413bdea7f3",
    ("grove-128", 40): "5997689245c07022d30445f5dfe9c2215a9ebdb24fe714b17dc1d186b987eb58",
}


class Key:
    """A key file: parameters, and the fixed columns of both circuits."""

    def __init__(self, data, expected):
        r = Bytes(data, "key")
        try:
            self.read(r)
        except Refusal as e:
            raise Refusal(e.code if e.code == "unsupported-tables" else "wrong-key", e.sentence) from None
        digest = [x % P for x in struct.unpack("<4Q", blake3(data))]
        if digest_text(digest) != expected:
            raise Refusal("wrong-key", f"the key has the digest {digest_text(digest)} (expected {expected})")
        self.digest = digest

    def read(self, r):
        def number(what, least, most):
            x = r.number(8)
            if not least <= x <= most:
                raise Refusal("malformed", f"key: {what} is {x} (expected {least} to {most})")
            return x

        if r.take(8) != b"evgrkey\0":
            raise Refusal("magic", "not a key file of grove")
        version = number("the version", 1, ALL_TABLES - 6)
        count = number("the number of parameters", 0, 256)
        end = r.at + 8 * count
        self.K = {2: Quadratic, 3: Cubic}[number("the degree of K", 2, 3)]
        self.query_bits, self.query_variables = number("bits of a query", 1, 32), number("variables of a query", 1, 64)
        self.widths = [number("a width", 1, 21) for _ in range(number("widths of indices", 0, 64))]
        ranges = number("ranges of zeros", 0, 64)
        self.zeros = [(number("a range", 0, 63), number("a range", 1, 64)) for _ in range(ranges)]
        blocks = [number("blocks", 0, 1 << 11) for _ in range(6 + version)]
        if any(blocks[len(TABLES) :]):
            raise Refusal("unsupported-tables", f"the key has rows in tables that this program does not know, beyond {TABLES}")
        self.blocks = dict(zip(TABLES, blocks))
        self.variables, self.width = number("variables", 17, 32), number("columns", 8, 1 << 12)
        self.rounds = []
        while r.at < end:
            self.rounds.append(tuple(number("a round", 0, 1 << 16) for _ in range(6)))
        if r.at != end or not self.rounds or self.widths != sorted(set(self.widths)) or any(a >= b for a, b in self.zeros):
            raise Refusal("malformed", "key: parameters that do not belong together")
        self.layout = Layout(self)
        n = self.layout.fixed.elements
        self.stacks = []
        for _ in range(2):
            stack = array("Q", r.take(8 * n))
            if max(stack) >= P:
                raise Refusal("non-canonical", "key: a fixed element is not below p")
            self.stacks.append(stack)
        r.end()
        folds = [fold for fold, *_ in self.rounds]
        if sum(folds) > self.variables or self.width << (self.variables - folds[0]) < self.layout.committed.elements:
            raise Refusal("malformed", "key: the schedule does not hold the stack")

    def columns(self, table):
        """Committed columns, fixed columns and ports of a row (docs/math/tables.md)."""
        D, v = self.K.D, self.query_variables
        products, pairs = -(-self.query_bits // 6), -(-v // 2)
        return {
            "permutation": (127, 17, 8),
            "operation": (4 * D, 8, 4),
            "dot": (4 + 6 * D, 7, 7),
            "query": (self.query_bits + products + pairs - 1 + D * (v + pairs), v + 2, v + 2),
            "bits": (64, len(self.widths) + len(self.zeros) + 4, 4),
            "constant": (0, 5, 1),
            "tuple": (7, 8, 5),
            "sponge": (130, 6, 6),
            "range": (1, 0, 1),
        }[table]


# --------------------------------------------------------------------------------------------------------------------
# 5. Layout: places on the bus, columns in the stacks (docs/math/tables.md, Layout)


def log2_up(n):
    return (n - 1).bit_length()


class Piece:
    """2^width columns of a table, from `first` on, in a stack."""

    def __init__(self, table, first, last, width, blocks):
        self.table, self.first, self.last, self.width, self.blocks, self.start = table, first, last, width, blocks, 0


class Stack:
    def __init__(self, tables):
        self.pieces = []
        for table, blocks, width in tables:
            rounded = -(-width // 8) * 8 if width > 8 else 1 << log2_up(width) if width else 0
            first = 0
            while first < width:
                log = (rounded - first).bit_length() - 1
                self.pieces.append(Piece(table, first, min(width, first + (1 << log)), log, blocks))
                first += 1 << log
        self.pieces.sort(key=lambda piece: -piece.width)  # stable
        self.elements = 0
        for piece in self.pieces:
            piece.start = self.elements
            self.elements += piece.blocks << (9 + piece.width)
        self.variables = log2_up(self.elements)


class Layout:
    def __init__(self, key):
        self.tables = [t for t in TABLES if key.blocks.get(t)]
        if "permutation" not in self.tables:
            raise Refusal("malformed", "key: a circuit without permutations")
        self.variables = {t: 9 + log2_up(key.blocks[t]) for t in self.tables}
        self.first_place, start = {}, 0
        for t in sorted(self.tables, key=lambda t: -self.variables[t]):  # stable
            self.first_place[t] = start
            start += key.columns(t)[2] << self.variables[t]
        self.bus_variables = log2_up(start)
        self.row_variables = max(self.variables.values())
        self.committed = Stack((t, key.blocks[t], key.columns(t)[0]) for t in self.tables)
        self.fixed = Stack((t, key.blocks[t], key.columns(t)[1]) for t in self.tables)


# --------------------------------------------------------------------------------------------------------------------
# 6. Tables: constraints and ports of a row at a point (docs/math/tables.md)

WIRE, NODE, PUBLIC, SET, RANGE = 1, 2, 3, 4, 5  # namespaces


def root_of_unity(log_order):
    return pow(7277203076849721926, 1 << (32 - log_order), P)


class Row:
    """The values of a table's columns at a point: c committed, x fixed. `one` is what the constant 1 is worth, `number` the row's
    number, `place(j)` the place of port j."""

    def __init__(self, key, table, committed, fixed, one, number):
        self.key, self.K, self.c, self.x, self.one, self.number, self.zero = key, key.K, committed, fixed, one, number, key.K.of(0)
        self.start, self.log = key.layout.first_place[table], key.layout.variables[table]

    def place(self, port):
        return self.number + (self.start + (port << self.log)) * self.one

    def word(self, elements):
        return [*elements, *[self.zero] * (4 - len(elements))]

    def wire(self, number, word):
        return [WIRE * self.one, number, self.zero, *self.word(word)]

    def use(self, number, word):
        return -self.one, self.wire(number, word)

    def define(self, port, uses, word):
        return uses, self.wire(self.place(port), word)

    def use_or_define(self, port, check, last, word):
        """A use of wire `last` where check is 1; else the definition of the port's wire, with `last` uses."""
        no = self.one - check
        return no * last - check, self.wire(check * last + no * self.place(port), word)

    def element(self, first):
        return self.c[first : first + self.K.D]


def bit(x):
    return x * x - x


def extension_product(row, a, b):
    """The product in K of two elements given by coefficients that are columns."""
    if row.K.D == 2:
        return [a[0] * b[0] + 7 * (a[1] * b[1]), a[0] * b[1] + a[1] * b[0]]
    p3, p4 = a[1] * b[2] + a[2] * b[1], a[2] * b[2]
    return [a[0] * b[0] + p3, a[0] * b[1] + a[1] * b[0] + p3 + p4, a[0] * b[2] + a[1] * b[1] + a[2] * b[0] + p4]


def poseidon_constraints(row, outputs):
    """Columns 0 to 117 are the inputs of the S-boxes, those of the first round without constants; then come outputs. Each column
    from 12 on, less its linear form in the S-boxes' results before it, is 0."""
    c, K, one, out = row.c, row.K, row.one, []
    at = 12

    def demand(forms):
        nonlocal at
        columns = c[at : at + len(forms)]
        out.extend(x - form for x, form in zip(columns, forms))
        at += len(forms)
        return [x.pow7() for x in columns]

    def linear(boxes, round):
        constants = ROUND[12 * round : 12 * round + 12] if round < 30 else [0] * 12
        return [combine(K, [*line, k], [*boxes, one]) for line, k in zip(MATRIX, constants)]

    boxes = [(x + k * one).pow7() for x, k in zip(c[:12], ROUND[:12])]
    for r in range(1, FULL):
        boxes = demand(linear(boxes, r))
    known = [one, *(combine(K, line, boxes) for line in MATRIX)]
    for form in INPUTS_CUT:
        known += demand([combine(K, form, known)])
    r = FULL + PARTIAL
    boxes = demand([combine(K, form, known) + k * one for form, k in zip(OUTPUTS, ROUND[12 * r : 12 * r + 12])])
    for r in range(FULL + PARTIAL + 1, 30):
        boxes = demand(linear(boxes, r))
    demand(linear(boxes, 30)[:outputs])
    return out


def permutation(row):
    """f(m; h): m are columns 0 to 7, h 8 to 11, the digest 118 to 121."""
    c, zero, one = row.c, row.zero, row.one
    index, level, active, offered = c[122], c[123], c[124], c[125:127]
    use_l, free_l, use_r, free_r, field, inner, cap, leaf_row, digest_row = row.x[:9]
    number = row.x[9:]  # of each port
    m, h, digest = c[:8], c[8:12], c[118:122]
    pair = field if row.K.D == 2 else zero

    constraints = poseidon_constraints(row, 4) + [inner * x for x in h]
    if row.K.D == 3:
        constraints += [field * m[3], field * m[7]]
    idle = (one - active) * inner
    constraints += [bit(active), idle * offered[0], idle * offered[1]]

    ports = []
    # 0: use of h as a wire, or of the node (index, level + 1, digest)
    hashes = use_l + free_l + cap
    ports.append((-(hashes + inner * active), [
        WIRE * hashes + NODE * inner, number[0] + inner * index, inner * (level + one),
        *(hashes * x + inner * y for x, y in zip(h, digest))]))  # fmt: skip
    # 1, 2: the halves of m: use, definition, node of a cap, or the node below
    nodes = inner + cap
    for side, (use, free) in enumerate([(use_l, free_l), (use_r, free_r)]):
        key = use * number[1 + side] + free * row.place(1 + side) + cap * number[1] + 2 * (inner * index)
        if side:
            key = key + nodes
        half = m[4 * side : 4 * side + 4]
        ports.append((free * number[1 + side] - use + nodes * offered[side], [
            WIRE * one + (NODE - WIRE) * nodes, key, inner * level + cap * number[2],
            half[0], half[1], (one - pair) * half[2], (one - pair) * half[3]]))  # fmt: skip
    # 3, 4: the second element of K of each half; in a leaf row its index and its node; the digest of public inputs
    for side, (use, free) in enumerate([(use_l, free_l), (use_r, free_r)]):
        n = number[3 + side]
        key = pair * (use * n + free * row.place(3 + side))
        times = pair * (free * n - use) - leaf_row
        first, second = (pair * x for x in m[4 * side + 2 : 4 * side + 4])
        if side == 0:
            ports.append((times, [WIRE * one, key + leaf_row * n, zero, first + leaf_row * index, second, zero, zero]))
        else:
            either = leaf_row + digest_row
            word = [x + either * d for x, d in zip([first, second, zero, zero], digest)]
            space = WIRE * pair + NODE * leaf_row + PUBLIC * digest_row
            ports.append((times + digest_row, [space, key + leaf_row * index, leaf_row * n, *word]))
    # 5, 6, 7: definitions of the digest as a word, of its first and of its second element of K
    D = row.K.D
    second = digest[D : 2 * D] if 2 * D <= 4 else []
    for port, word in [(5, digest), (6, digest[:D]), (7, second)]:
        ports.append(row.define(port, number[port], word))
    return constraints, ports


def operation(row):
    """d = q0 a b + q1 a + q2 c in K."""
    D, x = row.K.D, row.x
    a, b, c, d = (row.element(i * D) for i in range(4))
    ab = extension_product(row, a, b)
    constraints = [d[i] - (x[0] * ab[i] + x[1] * a[i] + x[2] * c[i]) for i in range(D)]
    ports = [row.use(n, word) for n, word in zip(x[4:7], (a, b, c))]
    return constraints, ports + [row.use_or_define(3, x[3], x[7], d)]


def dot_table(row):
    """after = before + sum of x_j w_j, x in F and w in K."""
    D, x = row.K.D, row.c[:4]
    w = [row.element(4 + i * D) for i in range(4)]
    before, after = row.element(4 + 4 * D), row.element(4 + 5 * D)
    constraints = [after[i] - (before[i] + row.K.sum([x[j] * w[j][i] for j in range(4)])) for i in range(D)]
    ports = [row.use(n, word) for n, word in zip(row.x, [x, *w, before])]
    return constraints, ports + [row.define(6, row.x[6], after)]


def query_table(row):
    """y = product over v of (1 + r_v (z^(2^v) - 1)), z the domain's point of an index."""
    key, D, one = row.key, row.K.D, row.one
    n, v = key.query_bits, key.query_variables
    products, pairs = -(-n // 6), -(-v // 2)
    cut = [0, n, n + products, n + products + pairs - 1]
    bits, z_products, powers = (row.c[a:b] for a, b in zip(cut, cut[1:]))
    r = [row.element(cut[3] + i * D) for i in range(v)]
    y = [row.element(cut[3] + (v + i) * D) for i in range(pairs)]
    constraints = [bit(b) for b in bits]
    before = one
    for i, column in enumerate(z_products):
        for j in range(6 * i, min(6 * i + 6, n)):
            before = (root_of_unity(j + 1) - 1) * (before * bits[j]) + before
        constraints.append(before - column)
        before = column
    power = before
    for pair in range(pairs):
        square = power * power
        weight = [one, *[row.zero] * (D - 1)] if pair == 0 else y[pair - 1]
        for coordinate, z in list(zip(r[2 * pair : 2 * pair + 2], [power, square])):
            factor = [(z - one) * x for x in coordinate]
            factor[0] = factor[0] + one
            weight = extension_product(row, weight, factor)
        constraints += [a - b for a, b in zip(weight, y[pair])]
        if pair + 1 < pairs:
            constraints.append(square * square - powers[pair])
            power = powers[pair]
    index = combine(row.K, [1 << j for j in range(n)], bits)
    ports = [row.use(row.x[0], [index])]
    ports += [row.use(row.x[1 + i], r[i]) for i in range(v)]
    return constraints, ports + [row.define(v + 1, row.x[v + 1], y[-1])]


def bits_table(row):
    """64 bits of an element; modes: three indices of so many bits, or zeros in a range."""
    key, K = row.key, row.K
    widths, modes = len(key.widths), len(key.widths) + len(key.zeros)
    constraints = [bit(b) for b in row.c]
    for mode, (first, last) in zip(row.x[widths : widths + len(key.zeros)], key.zeros, strict=True):
        constraints.append(mode * K.sum(row.c[first:last]))
    ports = [row.use(row.x[modes], [combine(K, [1 << j for j in range(64)], row.c)])]
    for i in range(3):
        low = [combine(K, [1 << j for j in range(n)], row.c[21 * i : 21 * i + n]) for n in key.widths]
        index = K.sum([mode * x for mode, x in zip(row.x, low)])
        ports.append(row.define(1 + i, row.x[modes + 1 + i], [index]))
    return constraints, ports


def constant_table(row):
    return [], [row.define(0, row.x[4], row.x[:4])]


def tuple_table(row):
    """The tuple (space, key, level, word), as often as times * count says."""
    key, level, word, count = row.c[0], row.c[1], row.c[2:6], row.c[6]
    space, times, used, free, *numbers = row.x
    ports = [row.use(n, w) for n, w in zip(numbers, ([key], [level], word))]
    ports.append(row.use_or_define(3, used, numbers[3], [count]))
    ports.append((times * count, [space, key, level, *word]))
    return [(row.one - free) * bit(count)], ports


def sponge_table(row):
    """A permutation whose whole state is wires: two are defined, the third is used, the next three are defined."""
    ports = []
    for port in range(6):
        first = 4 * port if port < 3 else 118 + 4 * (port - 3)
        word = row.c[first : first + 4]
        ports.append(row.use(row.x[2], word) if port == 2 else row.define(port, row.x[port], word))
    return poseidon_constraints(row, 12), ports


def range_table(row):
    """The row's own number, as often as the prover says."""
    return [], [(row.c[0], [RANGE * row.one, row.number, *[row.zero] * 5])]


ROW = dict(zip(TABLES, [permutation, operation, dot_table, query_table, bits_table, constant_table, tuple_table, sponge_table, range_table]))


# --------------------------------------------------------------------------------------------------------------------
# 7. Transcript, messages and paths (docs/math/transcript.md)

TRANSCRIPT, PUBLIC_INPUTS = tag("tran"), tag("publ")
BASE_ORACLE, EXTENSION_ORACLE = tag("base"), tag("exte")


class Proof:
    """Reads the elements of a proof in their order, and has the state of the transcript."""

    def __init__(self, K, elements):
        self.K, self.elements, self.at = K, elements, 0
        self.half = 4 // K.D  # elements of K in four of F
        self.trees = []

    def demand(self, holds, what):
        if not holds:
            raise Refusal("refused", f"{what} (before element {self.at} of the proof)")

    def word(self):
        if self.at + 4 > len(self.elements):
            raise Refusal("truncated", f"the proof has {len(self.elements)} elements, and is read beyond its end")
        self.at += 4
        return self.elements[self.at - 4 : self.at]

    # State h, and the challenges in it that were not drawn.
    def begin(self, t):
        self.h, self.left = [t, 0, 0, 0], []

    def absorb(self, left, right):
        self.h = f([*left, *right], self.h)
        self.left = [self.K(tuple(self.h[i * self.K.D : (i + 1) * self.K.D])) for i in range(self.half)]

    def observe(self, words):
        for i in range(0, len(words), 2):
            self.absorb(words[i], words[i + 1] if i + 1 < len(words) else [0] * 4)

    def observe_elements(self, elements):
        words = []
        for i in range(0, len(elements), self.half):
            word = [x for e in elements[i : i + self.half] for x in e.c]
            words.append(word + [0] * (4 - len(word)))
        self.observe(words)

    def challenge(self):
        if not self.left:
            self.absorb([0] * 4, [0] * 4)
        return self.left.pop(0)

    def receive(self, count):
        """A message of elements of K: as many as fit in each word, what is left of a word 0."""
        words = [self.word() for _ in range(-(-count // self.half))]
        self.observe(words)
        D = self.K.D
        elements = [self.K(tuple(w[i * D : (i + 1) * D])) for w in words for i in range(self.half)]
        fills = [x for w in words for x in w[self.half * D :]] + [x for e in elements[count:] for x in e.c]
        self.demand(not any(fills), "what fills up a message is not 0")
        return elements[:count]

    def receive_cap(self, depth, cap):
        digests = [self.word() for _ in range(1 << cap)]
        self.observe(digests)
        # Digests that are known to belong to the tree: (level, index).
        self.trees.append((depth - cap, {(depth - cap, i): d for i, d in enumerate(digests)}))
        return self.trees[-1]

    def work(self, bits):
        self.receive(1)
        self.demand(self.h[3] % (1 << bits) == 0, f"a proof of work of {bits} bits is missing")

    def indices(self, count, width):
        out, limbs = [], self.h[:3]
        while len(out) < count:
            out += [x >> shift & ((1 << width) - 1) for x in limbs for shift in (0, 21, 42)]
            if len(out) < count:
                self.absorb([0] * 4, [0] * 4)
                limbs = self.h
        self.left = []
        return out[:count]

    def open(self, tree, start, index, words):
        """The leaf of a tree at an index, and its path to the first node that is known."""
        top, known = tree
        leaf = [self.word() for _ in range(words)]
        siblings, level = [], 0
        # A sibling is read unless an earlier path went through a child of the same node.
        while level < top and (level, index >> level) not in known:
            siblings.append(self.word())
            level += 1
        h = [start, 0, 0, 0]
        for i in range(0, words, 2):
            h = f(leaf[i] + leaf[i + 1], h)
        for l, sibling in enumerate(siblings):
            i = index >> l
            known[l, i], known[l, i ^ 1] = h, sibling
            h = node(sibling, h) if i & 1 else node(h, sibling)
        self.demand(h == known[level, index >> level], f"the path of leaf {index} does not lead to its tree")
        return [x for w in leaf for x in w]

    def end(self):
        if self.at != len(self.elements):
            raise Refusal("trailing", f"the proof has {len(self.elements)} elements, of which {self.at} are read")


# --------------------------------------------------------------------------------------------------------------------
# 8. SumCheck and the bus (docs/math/sumcheck.md, docs/math/transcript.md)


def round_eq(claim, w, message, r):
    """s(r) for s = c_0 + c_1 X + .., the message c_1, ..; (1 - w) s(0) + w s(1) = claim."""
    return horner([claim - w * type(claim).sum(message), *message], r)


def round_plain(claim, message, r):
    """The same for s(0) + s(1) = claim."""
    half = (P + 1) // 2
    return horner([half * (claim - type(claim).sum(message)), *message], r)


def verify_bus(proof, variables, delta):
    """The fractions of all places sum to 1 / delta: the point of the leaves, numerator and denominator there."""
    K = proof.K
    p0, p1, q0, q1, inverse = proof.receive(5)
    numerator, denominator = p0 * q1 + p1 * q0, q0 * q1
    proof.demand(numerator * delta == denominator, "the bus: N delta = Q does not hold")
    proof.demand(denominator * delta * inverse == K.of(1), "the bus: no inverse of Q delta")
    point = []
    for layer in range(variables):
        if layer:
            l = proof.challenge()
            claim, following = p + l * q, list(point)
            for variable in reversed(range(layer)):
                message = proof.receive(2)
                r = proof.challenge()
                claim = round_eq(claim, point[variable], message, r)
                following[variable] = r
            p0, p1, q0, q1 = proof.receive(4)
            proof.demand(p0 * q1 + p1 * q0 + l * (q0 * q1) == claim, f"the bus: layer {layer}")
            point = following
        r = proof.challenge()
        point.append(r)
        p, q = p0 + r * (p1 - p0), q0 + r * (q1 - q0)
    return point, p, q


# --------------------------------------------------------------------------------------------------------------------
# 9. Rows (docs/math/rows.md, docs/math/transcript.md)


def eq_range(K, r, first, count):
    """eq(r, i) for i = first, .., first + count - 1."""
    out = []
    for i in range(first, first + count):
        total = K.of(1)
        for j, x in enumerate(r):
            total = total * (x if i >> j & 1 else K.of(1) - x)
        out.append(total)
    return out


def verify_rows(proof, key, leaves, alpha, beta):
    """The sum over all rows of ports and constraints: the point, and the values of all columns there."""
    K, layout = key.K, key.layout
    rho, numerator, denominator = leaves
    places, rho_blocks, padding = {}, {}, K.of(1)
    for t in layout.tables:
        n = layout.variables[t]
        places[t] = eq_range(K, rho[n:], layout.first_place[t] >> n, key.columns(t)[2])
        rho_blocks[t] = eq_range(K, rho[9:n], 0, key.blocks[t])
        padding = padding - K.sum(places[t]) * K.sum(rho_blocks[t])
    l = proof.challenge()
    claim = numerator + l * (denominator - padding)
    r = [None] * layout.row_variables
    for variable in [*reversed(range(9)), *range(9, layout.row_variables)]:
        message = proof.receive(7 if variable < 9 else 8)
        x = proof.challenge()
        claim = round_eq(claim, rho[variable], message, x) if variable < 9 else round_plain(claim, message, x)
        r[variable] = x

    values = proof.receive(sum(sum(key.columns(t)[:2]) for t in layout.tables))
    committed, fixed, at = {}, {}, 0
    for t in layout.tables:
        c, x, _ = key.columns(t)
        committed[t], fixed[t] = values[at : at + c], values[at + c : at + c + x]
        at += c + x

    total, power = K.of(0), l * l
    for t in layout.tables:
        n, blocks = layout.variables[t], eq_range(K, r[9 : layout.variables[t]], 0, key.blocks[t])
        one = K.sum(blocks)
        number = combine(K, [1 << i for i in range(9)], r[:9]) * one + combine(K, [512 * b for b in range(len(blocks))], blocks)
        constraints, ports = ROW[t](Row(key, t, committed[t], fixed[t], one, number))
        row = K.of(0)
        for weight, (times, fields) in zip(places[t], ports, strict=True):
            row = row + weight * (times + l * (alpha * one - horner(fields, beta)))
        for constraint in constraints:
            row, power = row + power * constraint, power * l
        weight = K.sum([a * b for a, b in zip(rho_blocks[t], blocks)]) * eq(K, rho[n : len(r)], r[n:])
        total = total + weight * row
    proof.demand(total == claim, "rows: constraints and ports at the point do not give the claim")
    return r, committed, fixed


# --------------------------------------------------------------------------------------------------------------------
# 10. Columns in a stack, and the opening (docs/math/transcript.md)


def combined(K, stack, values, eta):
    """The values of the pieces' columns times powers of eta; a piece takes 2^width powers."""
    total, power = K.of(0), K.of(1)
    for piece in stack.pieces:
        total = total + power * horner(values[piece.table][piece.first : piece.last], eta)
        for _ in range(1 << piece.width):
            power = power * eta
    return total


def chunk_weights(key, stack, point, eta):
    """(piece, the weight of each of its chunks of 512 places without that of the row within its block), for all pieces."""
    K, power = key.K, key.K.of(1)
    for piece in stack.pieces:
        blocks = eq_range(K, point[9 : key.layout.variables[piece.table]], 0, piece.blocks)
        powers = [power]
        for _ in range(1 << piece.width):
            powers.append(powers[-1] * eta)
        power = powers.pop()
        yield piece, [b * e for b in blocks for e in powers]


def stack_weight(key, point, eta, s):
    """The value at s of the weights of the committed stack: piece by piece, the row's nine bits, the column's, the block's."""
    K, total, power = key.K, key.K.of(0), key.K.of(1)
    for piece in key.layout.committed.pieces:
        n = 9 + piece.width
        blocks = eq_range(K, point[9 : key.layout.variables[piece.table]], 0, piece.blocks)
        there = eq_range(K, s[n:], piece.start >> n, piece.blocks)
        weight, square = K.sum([a * b for a, b in zip(blocks, there)]), eta
        for x in s[9:n]:
            weight = weight * (K.of(1) - x + x * square)
            square = square * square
        total = total + power * weight
        for _ in range(1 << piece.width):
            power = power * eta
    return total * eq(K, point[:9], s[:9])


def domain_point(index):
    """The product of the roots of unity of order 2^(j + 1) over the bits j of the index."""
    z = 1
    for j in range(index.bit_length()):
        if index >> j & 1:
            z = z * root_of_unity(j + 1) % P
    return z


def powers_weight(K, z, s):
    """The product over v of (1 + s_v (z^(2^v) - 1)), for z in F or K."""
    total, one = K.of(1), K.of(1)
    for x in s:
        if isinstance(z, int):
            total, z = total + (z - 1) * (total * x), z * z % P
        else:
            total, z = total * (one + x * (z - one)), z * z
    return total


def leaf_value(K, leaf, weights):
    """The sum of elements of F times weights, or of elements of K, given by coefficients, times weights."""
    if len(leaf) == len(weights):
        return combine(K, leaf, weights)
    D = K.D
    total = K.of(0)
    for i, w in enumerate(weights):
        total = total + K(tuple(leaf[i * D : (i + 1) * D])) * w
    return total


def verify_opening_of_stack(proof, key, tree, samples, claim):
    """WHIR: the claim that the sum of weights times the stack is `claim` becomes (weights at s) * value = claim'. Returns s, the
    value, claim' and what samples and queries have added to the weights at s."""
    K = key.K
    variables, s, asked = key.variables, [None] * key.variables, []

    def fold(variable):
        message = proof.receive(2)
        s[variable] = proof.challenge()
        return round_plain(claim, message, s[variable])

    def sample(count):
        return [(proof.challenge(), proof.receive(1)[0]) for _ in range(count)]

    def join(samples, indices, values):
        """Values of samples, then of queries, times powers of a challenge are added to the claim."""
        nonlocal claim
        joining = power = proof.challenge()
        for value in [v for _, v in samples] + list(values()):
            claim, power = claim + power * value, power * joining
        asked.append((variables, [z for z, _ in samples] + [domain_point(i) for i in indices], joining))

    if samples:
        join(samples, [], lambda: [])
    for i, (folds, rate, queries, cap, bits, _) in enumerate(key.rounds):
        top, variables = variables, variables - folds
        for variable in reversed(range(variables, top)):
            claim = fold(variable)
        this, depth = tree, variables + rate
        if i + 1 < len(key.rounds):
            _, rate, _, cap, _, count = following = key.rounds[i + 1]
            tree = proof.receive_cap(variables - following[0] + rate, cap)
            samples = sample(count)
        else:
            last, samples = proof.receive(1 << variables), []
        proof.work(bits)
        indices = proof.indices(queries, depth)
        weights = eq_table(K, s[variables:top])
        weights, start = (weights[: key.width], BASE_ORACLE) if i == 0 else (weights, EXTENSION_ORACLE)
        words = len(weights) * (1 if i == 0 else K.D) // 4
        join(samples, indices, lambda: (leaf_value(K, proof.open(this, start, x, words), weights) for x in indices))
    for variable in reversed(range(variables)):
        claim = fold(variable)
    for x in reversed(s[:variables]):
        n = len(last) // 2
        last = [a + x * (b - a) for a, b in zip(last[:n], last[n:])]
    weight = K.of(0)
    for variables, points, joining in asked:
        weight = weight + joining * horner([powers_weight(K, z, s[:variables]) for z in points], joining)
    return s, last[0], claim, weight


# --------------------------------------------------------------------------------------------------------------------
# 11. Claims about fixed columns (docs/math/transcript.md)


def chunk_sums(K, stack, row):
    """The sum of each chunk of 512 elements of F with the weights of its rows."""
    coefficients = list(zip(*(x.c for x in row)))
    for i in range(0, len(stack), 512):
        chunk = stack[i : i + 512]
        yield K(tuple(dot(chunk, c) % P for c in coefficients))


def fixed_value(key, circuit, point, eta):
    """What the fixed columns of a circuit at the point, combined by eta, are."""
    K, total = key.K, key.K.of(0)
    sums = list(chunk_sums(K, key.stacks[circuit], eq_table(K, point[:9])))
    for piece, weights in chunk_weights(key, key.layout.fixed, point, eta):
        first = piece.start >> 9
        total = total + K.sum([a * b for a, b in zip(sums[first : first + len(weights)], weights)])
    return total


def stacks_at(key, z):
    """P(z): both stacks as one polynomial, whose highest variable says which."""
    K, row = key.K, eq_table(key.K, z[:9])
    chunks, total = eq_table(K, z[9:-1]), key.K.of(0)
    for stack, which in zip(key.stacks, (K.of(1) - z[-1], z[-1])):
        total = total + which * K.sum([a * b for a, b in zip(chunk_sums(K, stack, row), chunks)])
    return total


# --------------------------------------------------------------------------------------------------------------------
# 12. A batch proof (docs/formats.md, Body of a grove proof; docs/math/circuits.md, The verifier)


def verify_up_to_fixed(proof, key, digest, circuit, public):
    """All but the claim about fixed columns: its point, eta, and the values of fixed columns there. `digest` is that of the key,
    `public` that of the public inputs."""
    K = key.K
    proof.begin(TRANSCRIPT)
    proof.observe([digest, public])
    proof.observe_elements([K.of(circuit)])
    folds, rate, _, cap, _, count = key.rounds[0]
    tree = proof.receive_cap(key.variables - folds + rate, cap)
    samples = [(proof.challenge(), proof.receive(1)[0]) for _ in range(count)]
    alpha, beta = proof.challenge(), proof.challenge()
    delta = alpha - horner([K.of(x) for x in [PUBLIC, 0, 0, *public]], beta)
    leaves = verify_bus(proof, key.layout.bus_variables, delta)
    r, committed, fixed = verify_rows(proof, key, leaves, alpha, beta)
    eta = proof.challenge()
    claim = combined(K, key.layout.committed, committed, eta)
    s, last, claim, weight = verify_opening_of_stack(proof, key, tree, samples, claim)
    weight = weight + stack_weight(key, r, eta, s)
    proof.demand(weight * last == claim, "the opening: weights times value are not the claim")
    proof.end()
    return r, eta, fixed


def verify_body(key, circuit, information, elements):
    """All that a proof of one of the key's circuits must fulfil, for public inputs that are these words."""
    K, D = key.K, key.K.D
    coordinates = key.layout.fixed.variables + 1
    handed = (coordinates + 1) * D
    if len(elements) < handed:
        raise Refusal("truncated", f"a body of {len(elements)} elements (expected {handed} and more)")
    claim = [K(tuple(elements[i : i + D])) for i in range(0, handed, D)]
    z, value = claim[:-1], claim[-1]
    proof = Proof(K, elements[handed:])
    proof.begin(PUBLIC_INPUTS)
    proof.observe_elements(claim)
    proof.observe([key.digest, [len(information), coordinates, 0, 0], *information])
    r, eta, fixed = verify_up_to_fixed(proof, key, key.digest, circuit, proof.h)
    proof.demand(fixed_value(key, circuit, r, eta) == combined(K, key.layout.fixed, fixed, eta),
                 "the fixed columns are not those of the key's circuit")  # fmt: skip
    proof.demand(stacks_at(key, z) == value, "the claim that the proof hands on is wrong: a proof below is of another key")


def inputs_digest(inputs):
    """Two inputs to a block, each the first element of a word."""
    h = [tag("inpu"), 0, 0, 0]
    for i in range(0, len(inputs), 2):
        a, b = (inputs[i : i + 2] + [0])[:2]
        h = f([a, 0, 0, 0, b, 0, 0, 0], h)
    return h


def verify_batch(data, text, key_bytes=None, key_digest=None, leaves=None, key=None, application=None):
    """The verdict on a proof file. What the verifier trusts is the commitment, the key's digest, the leaves, and of an
    application its name, parameters and inputs."""
    p = decode_proof(data)
    if p["backend"] != "grove":
        raise Refusal("unsupported-backend", f"proofs of the backend {p['backend']} are not verified here")
    if p["scheme"] not in ("evergrove1", "evergrove1-selected", "evergrove1-complete"):
        raise Refusal("scheme", f"proofs of the scheme {p['scheme']} are not verified here")
    stated = (p.get("application"), p.get("parameters"))
    if stated != (application[:2] if application else (None, None)):
        raise Refusal("application", f"the proof is about the application {stated[0]}, with other parameters than asked for, or none")
    if p["backend version"] != 1:
        raise Refusal("version", f"backend version {p['backend version']} (expected 1)")
    if p["kind"] == "wrap":
        raise Refusal("malformed", "grove has no wrap")
    # Policy (docs/security.md): the commitment's height and root, base 0, the class of the height, d not 0 or, over all rows, 0
    # and the commitment grown by empty slots.
    height, root = commitment(text)
    expected, complete = 27 if height <= 27 else 40, p["scheme"] == "evergrove1-complete"
    while complete and height < p["height"]:
        height, root = height + 1, node(root, NULL[height])
    if (p["height"], p["base"], p["class"]) != (height, 0, expected):
        raise Refusal("height", f"height {p['height']}, base {p['base']}, class {p['class']} (expected {height}, 0, {expected})")
    if p["root"] != root:
        raise Refusal("wrong-root", f"the proof is about root {digest_text(p['root'])} (expected the commitment's)")
    if not any(p["canonical"]) and not complete:
        raise Refusal("wrong-rows", "the canonical digest is that of no rows")
    if leaves is not None:
        if complete:
            raise Refusal("usage", "a proof about all rows takes no rows")
        if leaves and leaves[-1][0] >> height:
            raise Refusal("wrong-rows", f"position {leaves[-1][0]} is beyond a tree of height {height}")
        if not leaves or canonical(leaves) != p["canonical"]:
            raise Refusal("wrong-rows", "the canonical digest of the rows is not the proof's")
    if key is None:
        if key_bytes is None:
            raise Refusal("key-missing", "no key file: without the fixed columns there is no verdict")
        if key_digest is None and application:
            raise Refusal("usage", "the key of an application is not pinned: --key-digest is needed")
        key = Key(key_bytes, key_digest or PINNED[p["profile"], p["class"]])
    if (key.K, key.rounds) != SCHEDULES[p["profile"]]:
        raise Refusal("wrong-key", f"the key does not have the schedule of the profile {p['profile']}")
    if len(p["body"]) > 1 << 20:
        raise Refusal("malformed", f"a body of {len(p['body'])} bytes (expected 2^20 at most)")
    if len(p["body"]) % 8:
        raise Refusal("truncated", f"a body of {len(p['body'])} bytes is not one of whole elements")
    body = Bytes(p["body"], "body")
    elements = body.elements(len(p["body"]) // 8)
    information = [p["root"], p["canonical"], [p["height"], 0, 0, 0], [p["base"], 0, 0, 0]]
    if application:
        information += [inputs_digest(application[2]), *([x, 0, 0, 0] for x in p["output"])]
    verify_body(key, int(p["kind"] == "merge"), information, elements)
    out = {"kind": p["kind"], "profile": p["profile"], "key": digest_text(key.digest), "canonical_digest": digest_text(p["canonical"])}
    if complete:
        shown, not_shown = ["the proof is about all rows of the table"], []
    elif leaves is None:
        shown = ["the canonical digest in the file is the root of some hash tree over a non-empty set of leaves of the table"]
        not_shown = ["which rows", "how many rows", "that the digest is canonical for them", "anything about other rows"]
    else:
        shown = [f"the {len(leaves)} rows are at their positions in the table of the commitment, and the proof is about them alone"]
        not_shown = ["anything about other rows"]
    if application:
        out["output"] = [str(x) for x in p["output"]]
        shown.append(f"the circuits of the key give the output {p['output']} over these rows")
        not_shown.append("that the key is that of the application: its digest was given")
    return out | {"shown": shown, "not_shown": not_shown + ["that the commitment is the right one"]}


def verify(data, text, **given):
    if data[:4] == b"EVGO":
        if given.get("leaves") is not None or given.get("application"):
            raise Refusal("usage", "an opening takes neither rows nor an application")
        return verify_opening(data, text)
    return verify_batch(data, text, **given)


# --------------------------------------------------------------------------------------------------------------------
# 13. Rows (docs/cli.md, Tables and Schemas; docs/formats.md, Schema)

RAW = [{"name": f"e{i}", "type": "element", "nullable": False} for i in range(4)]


def read_schema(text):
    import tomllib

    try:
        table = tomllib.loads(text)
        if table.get("raw") is True:
            return RAW
        columns = [{"name": c["name"], "type": c["type"], "nullable": c.get("nullable", False)} for c in table["column"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as e:
        raise Refusal("bad-rows", f"not a schema: {e}") from None
    for c in columns:
        strings = isinstance(c["name"], str) and isinstance(c["type"], str) and isinstance(c["nullable"], bool)
        if not strings or not re.fullmatch(r"unsigned|signed|bytes|fixed:(1[0-8]|[0-9])", c["type"]):
            raise Refusal("bad-rows", f"column {c['name']}: unknown type {c['type']}")
    return columns


def schema_digest(columns):
    """Version 1, the number of columns, and each column's name, type and 1 where nulls are allowed (postcard)."""

    def text(x):
        data = x.encode()
        return varint(len(data)) + data

    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    columns = [] if columns is RAW else columns
    data = b"\x01" + varint(len(columns))
    for c in columns:
        data += text(c["name"]) + text(c["type"]) + bytes([c["nullable"]])
    return byte_sponge(data, "SCHM")


def cell_elements(column, cell):
    kind, bad = column["type"], Refusal("bad-rows", f"column {column['name']}: {cell!r} is no {column['type']}")
    if cell == "" and column["nullable"]:
        return [1 << 63] + [0] * (3 if kind == "bytes" else 0)
    if kind == "bytes":
        return byte_sponge(cell.encode(errors="surrogateescape"), "BYTE")
    places = int(kind[6:]) if kind.startswith("fixed") else 0
    m = re.fullmatch(r"([+-]?)([0-9]{1,40})(?:\.([0-9]{1,18}))?", cell, re.ASCII)
    if not m or len(m[3] or "") > places:
        raise bad
    x = int(m[1] + m[2] + (m[3] or "").ljust(places, "0"))
    if kind in ("unsigned", "element"):
        if not 0 <= x < (1 << 63 if kind == "unsigned" else P):
            raise bad
        return [x]
    if not -(1 << 62) <= x < 1 << 62:
        raise bad
    return [x + (1 << 62)]


def row_value(columns, cells):
    elements = [x for column, cell in zip(columns, cells) for x in cell_elements(column, cell)]
    if len(elements) <= 4:
        return elements + [0] * (4 - len(elements))
    return sponge(elements, (tag("ROWE") << 32) + len(elements))


def read_rows(text, columns):
    """(index, leaf digest) by increasing index, of a csv file with a column `index` and all columns of the schema."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as e:
        raise Refusal("bad-rows", f"not a csv file: {e}") from None
    names = [c["name"] for c in columns]
    if not rows or sorted(rows[0]) != sorted(["index", *names]):
        raise Refusal("bad-rows", f"columns {rows[0] if rows else []} (expected index and {names})")
    order = [rows[0].index(name) for name in names]
    at, out = rows[0].index("index"), {}
    for row in rows[1:]:
        if len(row) != len(rows[0]) or not re.fullmatch(r"[0-9]{1,13}", row[at], re.ASCII):
            raise Refusal("bad-rows", f"not a row with a position: {row}")
        index = int(row[at])
        if index in out or index >= 1 << 40:
            raise Refusal("bad-rows", f"position {index} is duplicate or beyond any tree")
        out[index] = leaf(index, row_value(columns, [row[i] for i in order]))
    return sorted(out.items())


# --------------------------------------------------------------------------------------------------------------------
# 14. Mutants: a changed proof must be refused


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


# --------------------------------------------------------------------------------------------------------------------
# 15. Self-test


def expect(code, call, *args, **given):
    """Demands this code, or any that refuses."""
    try:
        call(*args, **given)
        found = "accepted"
    except Refusal as e:
        found = e.code
    if found != code and (code != "any" or CODES[found] not in (1, 3)):
        raise AssertionError(f"{found} where {code} is expected: {call.__name__}")


def self_test(folder):
    """Known answers, the frozen proofs and openings, and pairs of proof and key of a folder: NAME.proof, NAME.json, and the key
    file that NAME.json names."""
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


# --------------------------------------------------------------------------------------------------------------------
# 16. The command line


MAX_FILE = 1 << 28


def read_file(path):
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise Refusal("unreadable", f"{path}: more than {MAX_FILE} bytes, which no file of ours has")
        return data
    except OSError as e:
        raise Refusal("unreadable", f"{path}: {e}") from None


def read_table(rows, schema):
    """Leaves and columns of a csv file of rows; cells may hold any bytes."""
    columns = RAW
    if schema:
        columns = read_schema(read_file(schema).decode(errors="replace"))
    return read_rows(read_file(rows).decode(errors="surrogateescape"), columns), columns


def trusted(a):
    """What verify takes beside the file and the commitment."""
    out = {}
    if a.key:
        if not Path(a.key).exists():
            raise Refusal("key-missing", f"no key file {a.key}: without the fixed columns there is no verdict")
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
            return {"code": "accepted", "shown": [f"{n} {what}" for what, n in self_test(a.proofs).items()]}
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
