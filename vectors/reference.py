#!/usr/bin/env python3
"""Writes hashing.json: digests computed independently of the Rust code, straight from the definitions.

usage: reference.py > hashing.json

Only the round constants are read from the Rust source; Poseidon, the tree's hashing rules and the canonical digest are written
out here as they are defined (Plonky2's Poseidon; docs/formats.md; section 3.1 of the Reckle paper).
"""
import json, re, struct
from pathlib import Path

P = 2**64 - 2**32 + 1
SOURCE = Path(__file__).parent / "../crates/primitives/src/hash/poseidon/constants.rs"
ROUND = [int(x, 16) for x in re.findall(r"0x[0-9a-f]{16}", SOURCE.read_text())]
assert len(ROUND) == 360
CIRCULANT = [17, 15, 41, 16, 2, 28, 13, 13, 39, 18, 34, 20]


def permute(s):
    for r in range(30):
        s = [(x + c) % P for x, c in zip(s, ROUND[12 * r : 12 * r + 12])]
        full = r < 4 or r >= 26
        s = [pow(x, 7, P) if full or i == 0 else x for i, x in enumerate(s)]
        s = [
            (sum(CIRCULANT[i] * s[(i + r) % 12] for i in range(12)) + (8 * s[0] if r == 0 else 0)) % P
            for r in range(12)
        ]
    return s


def leaf(index, value):
    return permute([index, *value, 0, 0, 0, int.from_bytes(b"LEAF", "big"), 0, 0, 0])[:4]


def node(left, right):
    return permute([*left, *right, 0, 0, 0, 0])[:4]


def null(height):
    d = permute([0] * 8 + [int.from_bytes(b"NULL", "big"), 0, 0, 0])[:4]
    for _ in range(height):
        d = node(d, d)
    return d


def hash_no_pad(elements):
    s = [0] * 12
    for i in range(0, len(elements), 8):
        block = elements[i : i + 8]
        s = permute(block + s[len(block) :])
    return s[:4]


def canonical(height, base, members):
    """d(v, I) of the node of this height whose first position is base, as section 3.1 has it."""
    if height == 0:
        return leaf(base, members[base]) if base in members else [0] * 4
    left = canonical(height - 1, base, members)
    right = canonical(height - 1, base + 2 ** (height - 1), members)
    if any(left) and any(right):
        return node(left, right)
    return [(a + b) % P for a, b in zip(left, right)]


def root(height, base, values):
    if height == 0:
        return leaf(base, values[base]) if base in values else null(0)
    half = 2 ** (height - 1)
    return node(root(height - 1, base, values), root(height - 1, base + half, values))


def text(digest):
    return b"".join(struct.pack("<Q", x) for x in digest).hex()


def value(i):
    return [i, i * i, P - 1 - i, 2**32 * (i + 1) % P]


def main():
    members = {i: value(i) for i in (2, 4, 5, 15)}
    rows = {i: value(i) for i in (0, 2, 4, 5, 7, 11, 15)}
    c = root(4, 0, rows)
    out = {
        "permutation_of_0_to_11": [str(x) for x in permute(list(range(12)))],
        "hash_no_pad": [
            {"input": [str(x) for x in range(n)], "digest": text(hash_no_pad(list(range(n))))} for n in (5, 8, 9, 16, 135)
        ],
        "leaf": [
            {"index": i, "value": [str(x) for x in v], "digest": text(leaf(i, v))}
            for i, v in [(0, [0] * 4), (5, value(5)), (2**40 - 1, [P - 1] * 4)]
        ],
        "node": [
            {"left": text(a), "right": text(b), "digest": text(node(a, b))}
            for a, b in [([0] * 4, [0] * 4), (leaf(0, value(0)), leaf(1, value(1)))]
        ],
        "null": [text(null(h)) for h in range(41)],
        "canonical": {
            "height": 4,
            "members": [{"index": i, "value": [str(x) for x in v]} for i, v in members.items()],
            "digest": text(canonical(4, 0, members)),
        },
        "commitment": {
            "height": 4,
            "slots": [{"index": i, "value": [str(x) for x in v]} for i, v in rows.items()],
            "text": f"evergrove1:4:{text(c)}",
        },
    }
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
