"""The key (docs/formats.md, Key file of grove), and what follows from it: places on the bus, columns in the stacks (docs/math/tables.md, Layout)."""
import struct
from array import array

from reference import P
from grove.field import Cubic, Quadratic, digest_text
from grove.refusal import Bytes, Refusal

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
