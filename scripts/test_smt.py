#!/usr/bin/env python3
"""Proves the gates of the circuits with cvc5, and compares the results with docs/math/gates.md.

    target/tools/smt/python/bin/python scripts/test_smt.py FOLDER [--bless] [--jobs N] [GATE ..]

FOLDER has the files that the test `gates_are_written` of evergrove-grove writes. A gate has up to two of them:
NAME.determined.smt2 claims that its inputs determine its outputs, NAME.specified.smt2 that the specification follows.
NAME.unstated stands for a gate whose specification cannot be written over the field.

Then the script removes one constraint at a time. It has found a mutant if a goal becomes satisfiable. With --bless it
writes the table of the page again, and keeps the reasons in the last column. If gates are named, it prints their results
and compares nothing.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/math/gates.md"
BEGIN, END = "<!-- results of scripts/test_smt.py -->\n", "<!-- end of results -->\n"
# Seconds of processor time for one goal, and for one goal of a mutant.
LIMIT, MUTANT_LIMIT = 20, 4
# The constraints of a gate that are removed: all, or this many at equal distances.
MUTANTS = 4
# Goals of a mutant that are tried one by one.
TRIES = 1
SPLIT = [("ff-solver", "split"), ("ff-bitsum", "true")]
BASES = [("ff-solver", "gb")]
# Codes of a solver's process.
SAT, UNSAT, ERROR = 10, 20, 30


class File:
    """An SMT-LIB file: declarations and assertions, then goals."""

    def __init__(self, path):
        head, *goals = path.read_text().split("(push 1)\n")
        self.head = head
        self.goals = [goal.split("(check-sat)")[0] for goal in goals]

    def without(self, constraint):
        """The same without a constraint, its goals that share variables with it first."""
        mark = re.compile(rf" :named c{constraint}(_[12])?\)\)$")
        lines = self.head.splitlines(keepends=True)
        removed = [line for line in lines if mark.search(line.rstrip())]
        other = File.__new__(File)
        other.head = "".join(line for line in lines if line not in removed)
        named = set(re.findall(r"\|[^|]*\|", "".join(removed)))
        other.goals = sorted(self.goals, key=lambda goal: named.isdisjoint(re.findall(r"\|[^|]*\|", goal)))
        return other


def solve():
    """Prints the verdict on each problem in standard input, up to the first one that is not unsat. Each has a process of
    its own, with the given seconds of processor time. Its options are the other arguments."""
    import cvc5

    head, *goals = json.load(sys.stdin)
    for goal in goals:
        child = os.fork()
        if child == 0:
            # An error of the solver, a limit and a signal are neither of these codes.
            code = ERROR
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
                resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
                result = decide(cvc5, head + goal, sys.argv[3:])
                code = UNSAT if result.isUnsat() else SAT if result.isSat() else ERROR
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print({UNSAT: "unsat", SAT: "sat"}.get(code, "unknown"), flush=True)
        if code != UNSAT:
            break


def decide(cvc5, problem, options):
    """The solver's result."""
    solver = cvc5.Solver(cvc5.TermManager())
    for option in options:
        solver.setOption(*option.split("=", 1))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, problem, "problem")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, symbols)
    return solver.checkSat()


def verdict(head, goals, options, limit):
    """sat if a goal is satisfiable, unsat if none is; unknown if the solver did not decide one of them in time."""
    options = [f"{name}={value}" for name, value in options]
    command = [sys.executable, __file__, "--solve", str(limit), *options]
    done = subprocess.run(command, input=json.dumps([head, *goals]), capture_output=True, text=True)
    found = done.stdout.split()
    if len(found) == len(goals) and found[-1] != "unknown":
        return found[-1]
    return found[-1] if found and found[-1] == "sat" else "unknown"


def any_of(file):
    """One goal that holds where one of the file's goals holds."""
    inner = [re.fullmatch(r"\(assert (.*)\)\n", goal).group(1) for goal in file.goals]
    return f"(assert (or false {' '.join(inner)}))\n"


def judge(file):
    """sat if a goal is satisfiable, unsat if none is, otherwise unknown. Goals are tried together, then one by one."""
    together = [any_of(file)]
    for options, goals, limit in (
        (SPLIT, together, LIMIT // 4),
        (SPLIT, file.goals, LIMIT // 2),
        (SPLIT, together, LIMIT),
        (BASES, together, LIMIT),
    ):
        found = verdict(file.head, goals, options, limit)
        if found != "unknown":
            return found
    return "unknown"


def mutant(files, constraint):
    """found if a goal of a file becomes satisfiable, redundant if none does, otherwise open. Looks first where all inputs
    are 0, or 1, or 2: a solver finds these assignments sooner."""
    verdicts = set()
    for file in files:
        other = file.without(constraint)
        inputs = re.search("^; inputs:(.*)$", file.head, re.M).group(1).split()
        for value in (0, 1, 2, None):
            pins = "" if value is None else "".join(f"(assert (= {x} (as ff{value} F)))\n" for x in inputs)
            for goal in [*other.goals[:TRIES], any_of(other)]:
                for options in (SPLIT, BASES):
                    found = verdict(other.head + pins, [goal], options, MUTANT_LIMIT)
                    if found != "unknown":
                        break
                if found == "sat":
                    return "found"
                if value is None:
                    verdicts.add(found)
    return "redundant" if verdicts == {"unsat"} else "open"


def gate(folder, name):
    """The row of a gate: name, what it is, constraints, determined, specified, mutants; and a line for each constraint."""
    unstated = folder / f"{name}.unstated"
    if unstated.exists():
        count, about = unstated.read_text().strip().split(" ", 1)
        return [f"`{name}`", about, count, "", "", ""], [], False
    files = {kind: folder / f"{name}.{kind}.smt2" for kind in ("determined", "specified")}
    files = {kind: File(path) for kind, path in files.items() if path.exists()}
    head = next(iter(files.values())).head
    about = head.splitlines()[0].split(": ", 1)[1]
    constraints = re.findall(r"^; c\d+: (.*)$", head, re.M)
    words = {"unsat": "yes", "sat": "**no**", "unknown": "open"}
    verdicts = {kind: judge(file) for kind, file in files.items()}
    proven = [file for kind, file in files.items() if verdicts[kind] == "unsat"]
    tried = range(len(constraints))
    if len(tried) > MUTANTS:
        tried = sorted({i * len(tried) // MUTANTS for i in range(MUTANTS)})
    states = {i: mutant(proven, i) for i in tried} if proven else {}
    count = lambda state: sum(one == state for one in states.values())
    row = [f"`{name}`", about, str(len(constraints))]
    row += [words[verdicts[kind]] if kind in verdicts else "" for kind in ("determined", "specified")]
    row += [f"{count('found')} of {len(states)}" if states else ""]
    notes = [f"{name}: without {constraints[i]}: {state}" for i, state in states.items() if state != "found"]
    ok = bool(verdicts) and set(verdicts.values()) == {"unsat"} and count("found") > 0
    return row, notes, ok


def kept(folder, name):
    """The row of a gate, from an earlier run of this script on the same files if there is one."""
    files = sorted(path for path in folder.glob(f"{name}.*") if path.suffix != ".json")
    key = hashlib.sha256(b"".join(path.read_bytes() for path in [pathlib.Path(__file__), *files])).hexdigest()
    path = folder / f"{name}.json"
    if path.exists():
        result, known = json.loads(path.read_text())
        if known == key:
            return result
    result = gate(folder, name)
    path.write_text(json.dumps([result, key]))
    return result


def table(rows, reasons):
    """The generated part of the page."""
    proven = [row for row, ok in rows if ok]
    lines = [f"{len(proven)} of {len(rows)} gates are proven: {100 * len(proven) // len(rows)} %.\n"]
    heading = ["gate", "outputs", "constraints", "determined", "as specified", "mutants found", "unproven because"]
    lines += ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for row, ok in rows:
        reason = "" if ok else reasons.get(row[0], "")
        lines.append(" | ".join(["| " + row[0], *row[1:], reason]).rstrip() + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("gates", nargs="*")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    names = sorted({path.name.split(".")[0] for path in arguments.folder.glob("*.*")})
    wanted = [name for name in names if not arguments.gates or name in arguments.gates]
    # Small ones first: a mistake shows soon.
    wanted.sort(key=lambda name: sum(path.stat().st_size for path in arguments.folder.glob(f"{name}.*smt2")))
    if not wanted:
        sys.exit(f"{arguments.folder} has no file of a gate")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(kept, arguments.folder, name) for name in wanted]
        for job in concurrent.futures.as_completed(jobs):
            row, notes, ok = job.result()
            print(" | ".join(row), *notes, sep="\n  ", flush=True)
            rows.append((row, ok))
    rows.sort()
    if arguments.gates:
        return
    before, found, after = PAGE.read_text().partition(BEGIN)
    page, end, after = after.partition(END)
    if not (found and end):
        sys.exit(f"{PAGE} has no place for results")
    reasons = {cells[1].strip(): cells[-2].strip() for cells in (line.split("|") for line in page.splitlines()) if len(cells) > 7}
    new = table(rows, reasons)
    if arguments.bless:
        PAGE.write_text(before + BEGIN + new + END + after)
    failed = [row[0] for row, ok in rows if not ok and not reasons.get(row[0])]
    old = set(page.splitlines())
    changed = [line for line in new.splitlines() if line not in old] if not arguments.bless else []
    for line in changed:
        print(f"not in {PAGE.relative_to(ROOT)}: {line}")
    for name in failed:
        print(f"{name} is neither proven nor has a reason in {PAGE.relative_to(ROOT)}")
    passed = len(rows) - len(failed)
    print(f"test result: {passed} passed; {len(changed) + len(failed)} failed;")
    sys.exit(1 if changed or failed else 0)


if __name__ == "__main__":
    solve() if sys.argv[1:2] == ["--solve"] else main()
