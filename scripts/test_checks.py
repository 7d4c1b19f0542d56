#!/usr/bin/env python3
"""Leaves out each check of the verifier in turn, and demands that a test of crates/verifier fails.

    test_checks.py [TEXT..]    all checks, or those whose names contain one of the texts

A check is a condition that refuses, or a statement `check(..)?;`. In `a || b`, and in `!(a && b)`, each operand is a
check, and so is each end of a range. The script covers crates/verifier/src except the argument's equations:
docs/math/circuits.md says what holds the code to them.

The script copies the tracked files to target/checks, makes each check depend on a number, builds the tests once, and
runs them once for each number. Random tests have no cases here.

scripts/checks.txt lists the checks without which no test of crates/verifier fails, and the reasons. The script fails if
such a check is not listed, or if a listed check is needed.

Some refusals cannot be left out, since the code behind them needs a value: `let .. else`, `ok_or(..)?`, and most arms
of `match`.
"""

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "checks"
LIST = ROOT / "scripts" / "checks.txt"
SOURCE = "crates/verifier/src"
# The argument's equations, tables and arithmetic.
OTHERS = re.compile(r"argument/(?!mod|reader)|tables/|soundness/|algebra|poseidon|schema/tests")
# The most seconds and bytes of memory of a test program.
SECONDS = 120
MEMORY = 1 << 33
SWITCH = """#![allow(unused_parens)]
extern crate alloc;
extern crate std;
/// True if the check with this number is left out.
pub(crate) fn left_out(number: u32) -> bool {
    static OWN: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("LEFT_OUT").ok().and_then(|own| own.parse().ok()));
    *OWN == Some(number)
}
/// The ends of ranges.
pub(crate) trait End: Sized {
    fn or_least(self, number: u32) -> Self;
    fn or_greatest(self, number: u32) -> Self;
}
macro_rules! end {
    ($($type:ty)*) => {$(impl End for $type {
        fn or_least(self, number: u32) -> Self {
            if left_out(number) { Self::MIN } else { self }
        }
        fn or_greatest(self, number: u32) -> Self {
            if left_out(number) { Self::MAX } else { self }
        }
    })*};
}
end!(u8 u64 usize i64);
"""

# What replaces a place of the source: in the form, `#` is the number and `@` the code. The name of an end of a range
# has the whole operand.
Edit = collections.namedtuple("Edit", "begin end form operand which", defaults=[None, ""])


def blank(text):
    """The text with spaces instead of comments, strings and characters: only brackets and operators of code remain."""
    pattern = r"//[^\n]*|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\[^']+|[^'\\])'"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def bracket(text, at, step):
    """The place of the bracket that matches the one at `at`."""
    depth = 0
    while True:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
        at += step


def operands(text, begin, end, operator):
    """The ranges between the operators of a condition, outside of brackets."""
    depth, last = 0, begin
    while text[end - 1].isspace():
        end -= 1
    for at in range(begin, end):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and text.startswith(operator, at):
            yield last, at - 1
            last = at + len(operator) + 1
    yield last, end


def parts(text, begin, end, operator, form):
    """The operands of a condition as edits; two for a range."""
    for first, last in operands(text, begin, end, operator):
        found = re.fullmatch(r"!?\((.+)\.\.=(.+)\)\.contains\(.+\)", text[first:last])
        if found:
            low, high = [(first + found.start(i), first + found.end(i)) for i in (1, 2)]
            yield Edit(*low, "crate::End::or_least(@, #)", (first, last), ", low end")
            yield Edit(*high, "crate::End::or_greatest(@, #)", (first, last), ", high end")
        else:
            yield Edit(first, last, form)


def condition(text, block):
    """The range of the condition of the `if` whose block begins at `block`; `None` for other blocks and `if let`."""
    begin = text.rfind(" if ", 0, block) + 4
    own = re.sub(r"\{[^{}]*\}", "", text[begin:block])
    return None if begin < 4 or re.search(r"[{};]|=>|\blet\b", own) else (begin, block)


def refused_if(text, at):
    """The range of the condition that leads to the refusal at `at`, and whether the refusal follows if it is true."""
    before = text[:at].rstrip()
    if before.endswith("=>"):
        begin = before.rfind(" if ") + 4
        plain = begin >= 4 and not re.search(r"[{};]|=>|\blet\b", before[begin:-2])
        return ((begin, len(before) - 2) if plain else None), True
    if not before.endswith("{"):
        return None, True
    block, before = len(before) - 1, before[:-1].rstrip()
    if not before.endswith("else"):
        return condition(text, block), True
    then = before[:-4].rstrip()
    return (condition(text, bracket(text, len(then) - 1, -1)) if then.endswith("}") else None), False


def in_let_else(text, at):
    """True in the block of a `let .. else`, which has to return."""
    depth = 0
    while depth < 1:
        at -= 1
        depth += (text[at] in "([{") - (text[at] in ")]}")
    before = text[:at].rstrip()
    return before.endswith("else") and not before[:-4].rstrip().endswith("}")


def refusals(text, end):
    """The refusals `Err(..)` as edits; `None` for one that defines a value."""
    for found in re.finditer(r"(\breturn )?\bErr\(", text[:end]):
        begin, last = found.start(), bracket(text, found.end() - 1, 1) + 1
        if re.match(r"\)?\s*(=>|\||=[^=])", text[last:]):
            continue  # A pattern.
        place, refuses = refused_if(text, begin)
        function = re.findall(r"\bfn \w[^{]*", text[:begin])[-1]
        if place:
            form = "((@) && !crate::left_out(#))" if refuses else "((@) || crate::left_out(#))"
            yield from parts(text, *place, "||" if refuses else "&&", form)
        elif found[1] and text[last] == ";" and not in_let_else(text, begin):
            yield Edit(begin, last + 1, "if !crate::left_out(#) { @ }")
        elif not found[1] and "-> Result<()," in function and re.search(r"=>\s*\{?\s*$", text[:begin]):
            yield Edit(begin, last, "if crate::left_out(#) { Ok(()) } else { @ }")
        else:
            yield None


def bindings(text, end):
    """The operands of `let fits = a && b` as edits, if `!fits` is a check."""
    for found in re.finditer(r"\blet (\w+) = ([^;]*&&[^;]*);", text[:end]):
        if re.search(rf"\bif [^;{{}}]*!{found[1]}\b", text[found.end() : end]):
            yield from parts(text, *found.span(2), "&&", "((@) || crate::left_out(#))")


def statements(text, end):
    """The statements `check(..)?;` as edits."""
    for found in re.finditer(r"(?<=[;{}])\s+([a-z][\w.:]*\([^;{}]*\))\?;", text[:end]):
        if "write" not in found[1]:
            yield Edit(found.start(1), found.end(), "if crate::left_out(#) { let _ = @ } else { @ }")


def switch(path, names):
    """Makes the checks of a file depend on numbers, and appends their names. Returns how many others define values."""
    source = path.read_text()
    text = blank(source)
    end = len(source.partition("#[cfg(test)]\nmod tests {")[0])
    found = [*refusals(text, end), *bindings(text, end), *statements(text, end)]
    out, last = [], 0
    for begin, stop, form, operand, which in sorted(filter(None, found)):
        code = source[begin:stop]
        function = re.findall(r"\bfn (\w+)", text[:begin])[-1]
        shown = " ".join(source[slice(*(operand or (begin, stop)))].split())
        name = f"{path.relative_to(COPY / SOURCE)} {function}: {shown}{which}"
        names.append(name if name not in names else f"{name} ({1 + sum(n.startswith(name) for n in names)})")
        form = form.replace("let _ = @", f"let _ = {code[:-2]};") if code.endswith("?;") else form
        out += [source[last:begin], form.replace("#", str(len(names) - 1)).replace("@", code)]
        last = stop
    path.write_text("".join(out) + source[last:])
    return found.count(None) + len(re.findall(r"\.ok_or(_else)?\([^;]*\)\?", text[:end]))


def copy():
    """Copies the tracked files and makes the checks depend on numbers. Returns their names, and how many others define
    values."""
    shutil.rmtree(COPY, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    names, values = [], 0
    paths = sorted((COPY / SOURCE).rglob("*.rs"))
    # The numbers depend on all sources: without changes, cargo builds nothing.
    time = max(path.stat().st_mtime for path in [*paths, pathlib.Path(__file__)])
    for path in paths:
        if not OTHERS.match(str(path.relative_to(COPY / SOURCE))):
            values += switch(path, names)
        if path.name == "lib.rs":
            path.write_text(path.read_text().replace("extern crate alloc;\n", SWITCH, 1))
        os.utime(path, (time, time))
    return names, values


def build():
    """The test programs."""
    cargo = [os.environ.get("CARGO", "cargo"), "test", "--locked", "-p", "evergrove-verifier", "--lib", "--tests"]
    environment = os.environ | {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    command = [*cargo, "--no-run", "--message-format=json-render-diagnostics"]
    lines = subprocess.run(command, cwd=COPY, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    built = map(json.loads, lines.splitlines())
    return [message["executable"] for message in built if message.get("executable")]


def failed_test(programs, number):
    """The first test that fails without the check of this number; `None` if all pass."""
    own = {"LEFT_OUT": str(number), "INSTA_UPDATE": "no", "PROPTEST_CASES": "0", "RUST_BACKTRACE": "0"}
    options = {
        "cwd": COPY / "crates/verifier",
        "env": os.environ | own,
        "text": True,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    }
    for program in programs:
        run = subprocess.Popen([program], **options)
        timer = threading.Timer(SECONDS, run.kill)
        timer.start()
        failed = None
        for line in run.stdout:
            if found := re.match(r"test (.*) \.\.\. FAILED", line):
                failed = found[1]
                run.kill()
                break
        timer.cancel()
        if run.wait() or failed:
            return failed or "ended early"
    return None


def listed():
    """The names in the list."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return {line for line in lines if line and not line.startswith((" ", "#"))}


def main():
    names, values = copy()
    programs = build()
    if failed := failed_test(programs, len(names)):
        sys.exit(f"{failed} fails with all checks")
    wanted = [n for n, name in enumerate(names) if not sys.argv[1:] or any(text in name for text in sys.argv[1:])]
    argued, kept, bad = listed(), 0, 0
    for number in wanted:
        name = names[number]
        failed = failed_test(programs, number)
        kept += failed is None
        wrong = (failed is None) != (name in argued)
        bad += wrong
        verdict = failed or ("no test fails" if wrong else "listed")
        print(f"{'wrong: ' if wrong else ''}{name} | {verdict}", flush=True)
    for name in sorted(argued - set(names)):
        bad += 1
        print(f"wrong: {name} is listed, and is not a check")
    print(f"{len(wanted)} checks: without {len(wanted) - kept} a test fails, without {kept} none")
    print(f"{values} more refusals define values")
    print(f"test result: {'FAILED' if bad else 'ok'}. {len(wanted) - bad} passed; {bad} failed;")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
