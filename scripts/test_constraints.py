#!/usr/bin/env python3
"""Leaves out each constraint of the tables in turn, and compares the counts with docs/math/gates.md.

    python3 scripts/test_constraints.py FOLDER [--bless]

FOLDER has the files that the test `gates_are_written` of evergrove-grove writes. A constraint is needed if the gate
without it has an assignment that it refuses: one that satisfies all other constraints of the gate. Such an assignment is
guessed, and evaluated, as in smt_models.py, so no solver is asked. A constraint occurs in many rows and gates, and one
of them is enough. With --bless the script writes the table of the page.
"""

import argparse
import collections
import pathlib
import random
import re
import sys

import smt_models
from smt_integers import expressions, formula

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/math/gates.md"
BEGIN, END = "<!-- results of scripts/test_constraints.py -->\n", "<!-- end of constraints -->\n"
# Rows of gates in which a constraint is tried, and guesses for each.
PLACES, TRIES = 8, 12


class Gate:
    """The assertions of a file, each with the number of its constraint if it has one, and the order of guesses."""

    def __init__(self, path):
        head = path.read_text().split("(push 1)\n")[0]
        self.names = {int(i): name for i, name in re.findall(r"^; c(\d+): (.*)$", head, re.M)}
        inputs = re.search("^; inputs:(.*)$", head, re.M).group(1).split()
        terms = list(expressions(head))
        self.assertions = [(number(one[1]), formula(one[1])) for one in terms if one[0] == "assert"]
        names = [one[1] for one in terms if one[0] == "declare-const"]
        self.order = [*inputs, *(name for name in names if name not in set(inputs))]

    def is_needed(self, constraint):
        """Whether an assignment was found that only this constraint refuses."""
        own = [one for i, one in self.assertions if i == constraint]
        others = [one for i, one in self.assertions if i != constraint]
        about = set(variables(own))
        # The constraint's variables may be guessed, or follow from other constraints.
        late = sorted(self.order, key=lambda name: name in about)
        for seed in range(TRIES):
            values = smt_models.guess(others, late if seed % 2 else self.order, random.Random(seed))
            holds = lambda some: all(smt_models.holds(one, values) for one in some)
            if values and holds(others) and not holds(own):
                return True
        return False


def number(term):
    """The constraint of an assertion, which its name tells."""
    return int(re.match(r"c(\d+)", term[-1]).group(1)) if term[0] == "!" else None


def variables(part):
    """The variables of formulas: a polynomial has its monomials as keys."""
    if isinstance(part, dict):
        for monomial in part:
            yield from monomial
    elif isinstance(part, (list, tuple)):
        for one in part:
            yield from variables(one)


def places(folder):
    """For each constraint, by its table and its number there, the gates with it and its numbers in them."""
    found = collections.defaultdict(list)
    files = {path.name.split(".")[0]: path for path in sorted(folder.glob("*.smt2"))}
    for path in sorted(files.values(), key=lambda path: (path.stat().st_size, path.name)):
        gate = Gate(path)
        for i, name in gate.names.items():
            table, which = re.fullmatch(r"([a-z-]+)[\d.]*(?: |\.)?(.*)", name).groups()
            # Over K of degree three, constraints have other numbers.
            table += "`, K3" if path.name.split(".")[0].endswith("-k3") else "`"
            found[table, which].append((gate, i))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bless", action="store_true")
    arguments = parser.parse_args()
    counts = collections.defaultdict(lambda: [0, 0])
    for (table, which), rows in sorted(places(arguments.folder).items()):
        needed = any(gate.is_needed(i) for gate, i in rows[:PLACES])
        counts[table][0] += 1
        counts[table][1] += needed
        if not needed:
            print(f"`{table} {which}: no assignment found that only this constraint refuses")
    if not counts:
        sys.exit(f"{arguments.folder} has no file of a gate")
    lines = ["| constraints of | number | needed |", "|---|---|---|"]
    lines += [f"| `{table} | {total} | {needed} |" for table, (total, needed) in sorted(counts.items())]
    new = "\n".join(lines) + "\n"
    before, found, after = PAGE.read_text().partition(BEGIN)
    old, end, after = after.partition(END)
    if not (found and end):
        sys.exit(f"{PAGE} has no place for the counts of constraints")
    if arguments.bless:
        PAGE.write_text(before + BEGIN + new + END + after)
    changed = [line for line in new.splitlines() if line not in old.splitlines()] if not arguments.bless else []
    for line in changed:
        print(f"not in {PAGE.relative_to(ROOT)}: {line}")
    passed = sum(needed for _, needed in counts.values())
    print(f"test result: {passed} passed; {len(changed)} failed;")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
