#!/usr/bin/env python3
"""Writes ethereum.json: keys, leaf digests and canonical digests of claims about Ethereum's state, from docs/math/ethereum.md alone.

usage: ethereum.py > ethereum.json
"""
import json
import random
import sys

from grove.field import sponge
from reference import P, node, permute, text

MASK = 2**64 - 1


def keccak(message):
    """Keccak-256 by its definition, bit rotations and round constants derived."""
    rotate = lambda x, n: ((x << n % 64) | (x >> (64 - n % 64))) & MASK
    bits, constants = 1, []
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (bits & 1) << (2**j - 1)
            bits = bits << 1 ^ (0x171 if bits >> 7 else 0)
        constants.append(constant)
    padded = bytearray(message + bytes(136 - len(message) % 136))
    padded[len(message)] ^= 0x01
    padded[-1] ^= 0x80
    a = [[0] * 5 for _ in range(5)]
    for block in range(0, len(padded), 136):
        for i in range(17):
            a[i % 5][i // 5] ^= int.from_bytes(padded[block + 8 * i : block + 8 * i + 8], "little")
        for constant in constants:
            c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
            d = [c[x - 1] ^ rotate(c[(x + 1) % 5], 1) for x in range(5)]
            a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
            b = [[0] * 5 for _ in range(5)]
            b[0][0], (x, y) = a[0][0], (1, 0)
            for t in range(24):
                b[y][(2 * x + 3 * y) % 5] = rotate(a[x][y], (t + 1) * (t + 2) // 2)
                x, y = y, (2 * x + 3 * y) % 5
            a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
            a[0][0] ^= constant
    return b"".join(a[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


assert keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
TRIES = ["state", "transactions", "receipts", "withdrawals"]


def rlp_integer(n):
    digits = n.to_bytes((n.bit_length() + 7) // 8, "big")
    return digits if len(digits) == 1 and digits[0] < 0x80 else bytes([0x80 + len(digits)]) + digits


def key(c):
    if "index" in c:
        return bytes([1 + TRIES.index(c["trie"])]) + rlp_integer(c["index"])
    account = b"\x01" + keccak(bytes.fromhex(c["address"][2:]))
    if "slot" in c:
        return account + b"\x01" + keccak(int(c["slot"], 16).to_bytes(32, "big"))
    return account + b"\x00"


def halves(data):
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]


def number(n, words):
    return [n >> 32 * i & 0xFFFFFFFF for i in range(words)]


def leaf(c):
    if "index" in c:
        elements = [1 + TRIES.index(c["trie"]), *number(c["index"], 2)]
        tag = b"ETHM"
        if "value" in c:
            value = bytes.fromhex(c["value"][2:])
            tag, elements = b"ETHE", elements + [len(value)] + halves(value)
    else:
        elements = halves(bytes.fromhex(c["address"][2:]))
        tag = b"ETHN"
        if "slot" in c:
            elements += number(int(c["slot"], 16), 8)
            tag = b"ETHZ"
            if int(c["value"], 16):
                tag, elements = b"ETHS", elements + number(int(c["value"], 16), 8)
        elif "nonce" in c:
            elements += number(int(c["nonce"], 16), 2) + number(int(c["balance"], 16), 8)
            elements += halves(bytes.fromhex(c["storageHash"][2:])) + halves(bytes.fromhex(c["codeHash"][2:]))
            tag = b"ETHA"
    elements += [0] * (-len(elements) % 8)
    state = [int.from_bytes(tag, "big"), 0, 0, 0]
    for i in range(0, len(elements), 8):
        state = permute(elements[i : i + 8] + state)[:4]
    return state


def canonical(leaves, q, i=0):
    """Section 3.8 of the paper, node by node: `leaves` are (digits of the key in base q, digest)."""
    if not leaves:
        return None
    if len(leaves) == 1 and len(leaves[0][0]) == i:
        return leaves[0][1]
    below = [canonical([x for x in leaves if x[0][i] == digit], q, i + 1) for digit in range(q)]
    active = [d for d in below if d is not None]
    if len(active) == 1:
        return active[0]
    if len(active) == 2:
        return node(*active)
    return sponge(sum(active, []), (int.from_bytes(b"NODE", "big") << 32) + len(active))


def digits(data, bits):
    return [byte >> s & 2**bits - 1 for byte in data for s in range(8 - bits, -1, -bits)]


def main():
    sys.setrecursionlimit(4096)
    rng = random.Random(1)
    word = lambda: "0x" + rng.randbytes(32).hex()
    address = lambda: "0x" + rng.randbytes(20).hex()
    account = lambda a: {
        "address": a, "nonce": hex(rng.getrandbits(64)), "balance": hex(rng.getrandbits(90)), "storageHash": word(), "codeHash": word(),
    }  # fmt: skip
    a, b, c = sorted((address() for _ in range(3)), key=lambda x: keccak(bytes.fromhex(x[2:])))
    slot = lambda x, value: {"address": x, "slot": word(), "value": hex(value)}
    entry = lambda trie, i, n: {"trie": trie, "index": i, "value": "0x" + rng.randbytes(n).hex()}
    account_a = account(a)
    zeros = {"address": a, "nonce": "0x0", "balance": "0x0", "storageHash": "0x" + "00" * 32, "codeHash": "0x" + "00" * 32}
    great = {"address": "0x" + "ff" * 20, "slot": hex(2**256 - 1), "value": hex(2**256 - 1)}
    absent = {"address": b, "absent": True}
    slots = [slot(a, 1), slot(a, 2**255 + 7), slot(a, 0), slot(b, 0), slot(c, 2**32)]
    entries = [entry("receipts", i, n) for i, n in [(0, 1), (1, 4), (127, 5), (128, 16), (255, 17), (256, 130), (2**64 - 1, 4510)]]
    entries += [entry("transactions", 0, 3), entry("withdrawals", 0, 33), {"trie": "receipts", "index": 300, "absent": True}]
    batches = {
        "one account": [account_a],
        "an account and its slots": [account_a, *slots[:3]],
        "slots without their account": slots[:3],
        "an absent account and its zero slot": [absent, slots[3]],
        "three accounts": [account_a, absent, account(c), *slots],
        "entries of one trie": entries[:7],
        "everything": [account_a, absent, *slots, *entries],
        "extreme numbers": [zeros, great],
    }
    cases = []
    for name, claims in batches.items():
        ordered = sorted(claims, key=key)
        leaves = [(key(x), leaf(x)) for x in ordered]
        cases.append({
            "name": name,
            "claims": [{**x, "K": key(x).hex(), "L": text(leaf(x))} for x in claims],
            "digest": text(canonical([(digits(k, 1), d) for k, d in leaves], 2)),
            "sixteen": text(canonical([(digits(k, 4), d) for k, d in leaves], 16)),
        })  # fmt: skip
    print(json.dumps({"scheme": "evergrove1-mpt", "batches": cases}, indent=1))


if __name__ == "__main__":
    main()
