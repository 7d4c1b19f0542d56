#!/usr/bin/env python3
"""Proves the gates of the circuits with cvc5, and compares the results with docs/math/gates.md.

    target/tools/smt/python/bin/python scripts/test_smt.py FOLDER [--bless] [--jobs N] [GATE ..]

FOLDER has the files that the test `gates_are_written` of evergrove-grove writes. A gate has up to two of them:
NAME.determined.smt2 claims that its inputs determine its outputs, NAME.specified.smt2 that the specification follows.
NAME.unstated stands for a gate whose specification cannot be written over the field.

A problem is asked in the theory of finite fields, or in that of bit-vectors, where smt_integers.py says why both are
equal. Then the script removes one constraint at a time. It has found a mutant if a goal becomes satisfiable: by a guess
that smt_models.py checks, or by the solver. With --bless it
writes the table of the page again, or only the rows of gates that are named, and keeps the reasons in the last column.
Without, it compares the table with the results, or prints the results of gates that are named. A slower machine decides
less within the same seconds, so a gate with less than the page says is asked again with more of them.
"""

import argparse
import concurrent.futures
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

import smt_integers
import smt_models

# What results depend on, beside the files: these scripts as they were loaded.
SCRIPTS = b"".join(pathlib.Path(path).read_bytes() for path in (__file__, smt_integers.__file__, smt_models.__file__))
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/math/gates.md"
BEGIN, END = "<!-- results of scripts/test_smt.py -->\n", "<!-- end of results -->\n"
# Seconds of processor time for one problem, and for one problem of a mutant.
LIMIT, MUTANT_LIMIT = 12, 4
# The same for a problem that is soon decided, or asked in another form.
SHORT = 2
# Times these limits, for gates with less than the page says.
PATIENCE = 8
# The constraints of a gate that are removed: all, or this many at equal distances.
MUTANTS = 4
# Goals that are asked together.
CHUNK = 4
# The limits are multiplied by this.
times = 1
# Strategies for equations over the field. Problems with bit-vectors need none.
SPLIT = ("ff-solver=split", "ff-bitsum=true")
BASES = ("ff-solver=gb",)
# Codes of a solver's process.
SAT, UNSAT, ERROR = 10, 20, 30


class File:
    """An SMT-LIB file: declarations and assertions, then goals."""

    def __init__(self, head, goals):
        self.head = head
        self.goals = goals
        self.inputs = re.search("^; inputs:(.*)$", head, re.M).group(1).split()

    @classmethod
    def read(cls, path):
        head, *goals = path.read_text().split("(push 1)\n")
        return cls(head, [goal.split("(check-sat)")[0] for goal in goals])

    def without(self, constraint):
        """The same without a constraint."""
        mark = re.compile(rf" :named c{constraint}(_[12])?\)\)$")
        lines = self.head.splitlines(keepends=True)
        return File("".join(line for line in lines if not mark.search(line.rstrip())), self.goals)

    def pinned(self, value):
        """The same with a value for all inputs. A solver finds such an assignment sooner."""
        pins = [] if value is None else [f"(assert (= {x} (as ff{value} F)))\n" for x in self.inputs]
        return File(self.head + "".join(pins), self.goals)

    def problem(self, goals):
        """That one of the goals holds, in the theory of finite fields."""
        inner = [re.fullmatch(r"\(assert (.*)\)\n", goal).group(1) for goal in goals]
        return f"{self.head}(assert (or false {' '.join(inner)}))\n"


def solve():
    """Prints the verdict on the problem in standard input. It has a process of its own, with the given seconds of
    processor time. Its options are the other arguments."""
    import cvc5

    problem = sys.stdin.read()
    child = os.fork()
    if child == 0:
        # An error of the solver, a limit and a signal are neither of these codes.
        code = ERROR
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
            result = decide(cvc5, problem, sys.argv[3:])
            code = UNSAT if result.isUnsat() else SAT if result.isSat() else ERROR
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print({UNSAT: "unsat", SAT: "sat"}.get(code, "unknown"))


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


def verdict(problem, options, limit):
    """sat, unsat or unknown."""
    command = [sys.executable, __file__, "--solve", str(limit * times), *options]
    done = subprocess.run(command, input=problem, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def ask(file, reading, goals, limit, known=None, exact=True):
    """The verdict on the claim that one of the goals holds. It is asked with bit-vectors, unless large numbers are
    multiplied, and as the file says it. If there are known variables, it is also asked with some of the assertions, which
    can only refute it."""
    wanted = ("or", [smt_integers.goal_of(goal) for goal in goals] + [False])
    own = smt_integers.Reading([wanted], reading)
    if False in own.assertions:
        return "unsat"
    bits = lambda reading: (lambda: smt_integers.in_bits(reading), (), limit)
    field = lambda reading: (lambda: smt_integers.in_field(reading), SPLIT, SHORT)
    parts = []
    if known is not None:
        near, close, more = smt_integers.parts(reading, wanted, known)
        parts = [bits(part) for part in ([close, more] if exact else [close]) if not smt_integers.multiplies(part)]
        parts.insert(0 if any(map(reading.large, smt_integers.names(wanted))) else 1, field(near))
        parts += [field(own)] if exact else []
    whole = [] if smt_integers.multiplies(own) else [bits(own)]
    if known is not None or not whole:
        whole += [(lambda: file.problem(goals), options, limit) for options in (SPLIT, BASES)]
    for number, (problem, options, seconds) in enumerate(parts + whole if exact else parts):
        found = verdict(problem(), options, seconds)
        if found == "unsat" or (found == "sat" and number >= len(parts)):
            return found
    return "unknown"


def judge(file):
    """sat if a goal is satisfiable, unsat if none is, otherwise unknown. The statements that goals deny are used for the
    goals after them."""
    reading = smt_integers.head(file.head)
    if not smt_integers.multiplies(reading):
        own = smt_integers.Reading([("or", [smt_integers.goal_of(goal) for goal in file.goals] + [False])], reading)
        if verdict(smt_integers.in_bits(own), (), SHORT) == "unsat":
            return "unsat"
    known, size = set(file.inputs), 1 if smt_integers.multiplies(reading) else CHUNK
    for start in range(0, len(file.goals), size):
        chunk = file.goals[start : start + size]
        known = known.union(*(smt_integers.names(smt_integers.goal_of(goal)) for goal in chunk))
        together = size > 1 and ask(file, reading, chunk, SHORT, known, exact=False) == "unsat"
        for goal in chunk:
            if not together and (found := ask(file, reading, [goal], LIMIT, known)) != "unsat":
                return found
            reading = smt_integers.Reading([("not", smt_integers.goal_of(goal))], reading)
    return "unsat"


def assigned(file, goals):
    """sat if an assignment satisfies the assertions and one of the goals, unsat if none does, otherwise unknown. Looks
    also where all inputs are 0, or 1, or 2."""
    if smt_models.find(file.head, [smt_integers.goal_of(goal) for goal in goals], file.inputs):
        return "sat"
    first, *others = (None, 0, 1, 2)
    large = smt_integers.multiplies(smt_integers.head(file.head))
    for value in (*others, first) if large else (first, *others):
        other = file.pinned(value)
        found = ask(other, smt_integers.head(other.head), goals, MUTANT_LIMIT)
        if found == "sat" or (found == "unsat" and value is None):
            return found
    return "unknown"


def mutant(files, constraint):
    """found if a goal of a file becomes satisfiable, redundant if none does, otherwise open."""
    verdicts = set()
    for file in files:
        found = assigned(file.without(constraint), file.goals)
        if found == "sat":
            return "found"
        verdicts.add(found)
    return "redundant" if verdicts == {"unsat"} else "open"


def gate(folder, name):
    """The row of a gate: name, what it is, constraints, determined, specified, mutants; and a line for each constraint."""
    unstated = folder / f"{name}.unstated"
    if unstated.exists():
        count, about = unstated.read_text().strip().split(" ", 1)
        return [f"`{name}`", about, count, "", "", ""], [], False
    files = {kind: folder / f"{name}.{kind}.smt2" for kind in ("determined", "specified")}
    files = {kind: File.read(path) for kind, path in files.items() if path.exists()}
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
    none = "none to remove" if proven and not constraints else ""
    row += [f"{count('found')} of {len(states)}" if states else none]
    notes = [f"{name}: without {constraints[i]}: {state}" for i, state in states.items() if state != "found"]
    # A contradiction proves everything.
    empty = [kind for kind, file in files.items() if assigned(file, ["(assert true)\n"]) != "sat"]
    notes += [f"{name}: no assignment found that satisfies the assertions of {kind}" for kind in empty]
    ok = set(verdicts.values()) == {"unsat"} and not empty and (count("found") > 0 or not constraints)
    return row, notes, ok


def kept(folder, name, again=False):
    """The result of a gate. Unless it is asked again, from an earlier run of these scripts on the same files if there is
    one."""
    files = sorted(path for path in folder.glob(f"{name}.*") if path.suffix != ".json")
    solver = importlib.metadata.version("cvc5-gpl").encode()
    texts = [path.read_bytes() for path in files]
    key = hashlib.sha256(b"".join([SCRIPTS, solver, *texts])).hexdigest()
    path = folder / f"{name}.json"
    if path.exists() and not again:
        result, known = json.loads(path.read_text())
        if known == key:
            return result
    result = gate(folder, name)
    path.write_text(json.dumps([result, key]))
    return result


def mutants(row):
    """The number of mutants found, of a row or of the page's cells."""
    count = re.match(r"\d+", row[5])
    return int(count[0]) if count else 0


def less(row, cells):
    """Whether a row leaves a claim open that the page does not, or has fewer mutants."""
    return any(new == "open" != old for new, old in zip(row[3:5], cells[3:5])) or mutants(row) < mutants(cells)


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
    before, found, after = PAGE.read_text().partition(BEGIN)
    page, end, after = after.partition(END)
    if not (found and end):
        sys.exit(f"{PAGE} has no place for results")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    stated = {cells[0].strip("`"): cells for cells in lines}
    results = {}

    def ask_for(names, again):
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = {pool.submit(kept, arguments.folder, name, again): name for name in names}
            for job in concurrent.futures.as_completed(jobs):
                row, notes, ok = job.result()
                print(" | ".join(row), *notes, sep="\n  ", flush=True)
                results[jobs[job]] = row, ok

    ask_for(wanted, again=False)
    if not arguments.bless:
        global times
        times = PATIENCE
        ask_for([name for name in wanted if name in stated and less(results[name][0], stated[name])], again=True)
    rows = list(results.values())
    if arguments.gates and not arguments.bless:
        return
    reasons = {cells[0]: cells[-1] for cells in lines}
    if not arguments.bless:
        # A faster machine may find more mutants than the page says.
        for row, _ in rows:
            cells = stated.get(row[0].strip("`"), row)
            if mutants(row) > mutants(cells) and row[5].split()[1:] == cells[5].split()[1:]:
                row[5] = cells[5]
    asked = {row[0] for row, _ in rows}
    rows += [(cells[:-1], not cells[-1]) for cells in lines if arguments.gates and cells[0] not in asked]
    rows.sort()
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
