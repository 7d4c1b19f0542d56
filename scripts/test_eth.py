#!/usr/bin/env python3
"""Commits a table with the command line and checks its rows in a contract with OpenZeppelin's MerkleProof.

usage: test_eth.py EVERGROVE TOOLS

EVERGROVE is the command. TOOLS is the folder that scripts/eth-tools.sh fills. Run this with the folder's Python, which has
an EVM.
"""
import json, random, subprocess, sys, tempfile
from pathlib import Path

import pyrevm

ROOT = Path(__file__).resolve().parent.parent
# Absolute paths, since commands run in another folder.
EVERGROVE, TOOLS = (Path(arg).resolve() for arg in sys.argv[1:])
TYPES = ["address", "uint256"]
ROWS = 300
PROVEN = [0, 1, 2, 100, 127, 128, 255, 298, 299]
SCHEMA = "".join(f'[[column]]\nname = "{name}"\ntype = "{kind}"\n' for name, kind in zip(["account", "amount"], TYPES))


def words(*parts):
    return b"".join(int(x).to_bytes(32, "big") for x in parts)


def digest(text):
    return bytes.fromhex(text.removeprefix("0x"))


class Contract:
    """A contract with this root in a new EVM."""

    def __init__(self, built, root):
        self.evm, self.selectors = pyrevm.EVM(), built["selectors"]
        self.caller = "0x" + "11" * 20
        self.evm.set_balance(self.caller, 10**18)
        self.address = self.evm.deploy(self.caller, bytes.fromhex(built["bytecode"]) + root)

    def holds(self, function, row, proof):
        """Calls `function`. `row` is two words, 64 bytes."""
        data = bytes.fromhex(self.selectors[function]) + row + words(96, len(proof)) + b"".join(proof)
        return int.from_bytes(self.evm.message_call(self.caller, self.address, calldata=data), "big") == 1


def main():
    draw = random.Random(23)
    rows = [(f"0x{draw.getrandbits(160):040x}", str(draw.getrandbits(draw.choice([8, 64, 256])))) for _ in range(ROWS)]
    node = subprocess.run(["node", ROOT / "scripts/test_eth.mjs", TOOLS], input=json.dumps({"types": TYPES, "values": rows}),
                          stdout=subprocess.PIPE, text=True, check=True)
    built = json.loads(node.stdout)
    checks = 0

    def check(truth, what):
        nonlocal checks
        if not truth:
            print(f"test result: FAILED. {checks} passed; 1 failed ({what})")
            sys.exit(1)
        checks += 1

    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        (work / "schema.toml").write_text(SCHEMA)
        (work / "rows.csv").write_text("account,amount\n" + "".join(f"{a},{b}\n" for a, b in rows))

        def evergrove(*args):
            out = subprocess.run([EVERGROVE, *args, "--format", "json", "--quiet"], cwd=work, stdout=subprocess.PIPE, text=True, check=True)
            return json.loads(out.stdout)

        def commit(store, *more):
            evergrove("commit", "--store", store, "--input", "rows.csv", "--schema", "schema.toml", *more)

        def proof(store, row):
            return evergrove("app", "openzeppelin-proof", "--store", store, "--row", str(row))

        # The library's positions in both of its orders.
        for order, root in [("openzeppelin-js", "sorted"), ("openzeppelin-js-unsorted", "unsorted")]:
            commit(order, "--order", order)
            check(proof(order, 0)["root"] == built[root], f"the root of {order}")

        # Explicit positions: two gaps, in the order of the file.
        positions = [i + (i > 100) + (i > 200) for i in range(ROWS)]
        commit("gaps", "--indices", ",".join(map(str, positions)))
        proofs = {i: proof("gaps", positions[i]) for i in PROVEN}
        root = digest(proofs[0]["root"])
        contract = Contract(built, root)
        check(proofs[0]["root"] not in (built["sorted"], built["unsorted"]), "another order has another root")
        for i, found in proofs.items():
            account, amount = rows[i]
            row = words(int(account, 16), int(amount))
            path = [digest(x) for x in found["proof"]]
            check(found["types"] == TYPES and found["values"] == [account, amount], f"the cells of row {i}")
            check(b"".join(digest(x) for x in found["words"]) == row and digest(found["root"]) == root, f"the words of row {i}")
            check(contract.holds("holds", row, path), f"row {i} is refused")
            check(contract.holds("holdsWords", row, path), f"the words of row {i} are refused")
            for value in [int(amount) ^ 1, int(amount) ^ 1 << 255]:
                check(not contract.holds("holds", words(int(account, 16), value), path), f"row {i} with amount {value} is accepted")
            check(not contract.holds("holds", words(int(account, 16) ^ 1, int(amount)), path), f"row {i} of another account is accepted")
            other = [digest(x) for x in proofs[PROVEN[PROVEN.index(i) - 1]]["proof"]]
            check(not contract.holds("holds", row, other), f"row {i} with another row's proof is accepted")
            check(not contract.holds("holds", row, path[:-1]), f"row {i} without the top of its proof is accepted")
            check(not contract.holds("holds", row, path[1:]), f"row {i} without the bottom of its proof is accepted")
            check(not contract.holds("holds", row, path + [root]), f"row {i} with a longer proof is accepted")
            # The 64 bytes of the leaf's parent as a row of two words: hashing once accepts them, hashing twice does
            # not.
            leaf = digest(found["leaf"])
            node = b"".join(sorted([leaf, path[0]]))
            check(contract.holds("holdsHashedOnce", node, path[1:]), f"the parent of row {i} is not in the tree")
            check(not contract.holds("holdsWords", node, path[1:]), f"the parent of row {i} is accepted as a row")
            check(not contract.holds("holdsWords", leaf + path[0], path[1:]), f"the children of row {i}'s parent are accepted as a row")
        other = Contract(built, digest(built["sorted"]))
        first = [digest(x) for x in proofs[0]["proof"]]
        check(not other.holds("holds", words(int(rows[0][0], 16), int(rows[0][1])), first), "a row is accepted under another root")
    print(f"test result: ok. {checks} passed; 0 failed (rows in a contract)")


main()
