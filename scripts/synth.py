"""Measures the costs of the modules of crates/lab/rtl with Yosys; see scripts/synth.sh.

Two runs for each module:

- `xilinx`: an FPGA of the family UltraScale+. Cells, LUTs, carries, flip-flops, shift registers in LUTs, memories in
  LUTs, DSPs.
- `gates`: the gates of Yosys's generic library (two inputs, or a multiplexer) with ABC. `depth` is the number of gates
  on the longest path between registers or ports.

Modules that are `kept` are synthesised once, and their cells are counted once for each instance. Large modules are
counted by `parts`: Yosys sees the parts as black boxes, and their counts are those of their own entries, with default
parameters, once for each instance. A module with wide data is `scaled`: it is synthesised with two smaller widths, and its
counts continue the line through theirs. `depth` is the largest depth within a kept module, a part or the rest. A path through
a border is not counted as one.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RTL = Path("crates/lab/rtl")
DATA = Path("crates/lab/data/synth.json")
PAGE = Path("docs/models/rtl.md")
MUL = ["goldilocks_mul"]
POSEIDON = ["poseidon_round", "poseidon_sbox", "goldilocks_mul", "poseidon_constants"]
PADD = ["mont_mul_377", "mont_mul", "mont_step", "mod_add", "delay"]

# For each module: the modules that it uses, the kept modules, latency and interval in cycles.
MODULES = {
    "goldilocks_mul": ([], [], "10", "1"),
    "mle_node": (MUL, [], "11", "1"),
    "dfs_accumulator": (MUL, [], "10 a node", "1"),
    "dfs_expander": (["mle_node", *MUL], [], "11 a node", "1"),
    "mtu8": (["dfs_accumulator", *MUL], [], "30 to the accumulator", "1"),
    "mtu8_forward": (["dfs_expander", "mle_node", *MUL], [], "33 from the accumulator", "1"),
    "keccak_f": (["keccak_round"], ["keccak_round"], "24", "1"),
    "keccak_f_12": (["keccak_f", "keccak_round"], [], "12", "12"),
    "keccak_f_24": (["keccak_f", "keccak_round"], [], "24", "24"),
    "mont_mul": (["mont_step"], ["mont_step"], "49", "1"),
    "mont_mul_377": (["mont_mul", "mont_step"], ["mont_step"], "73", "1"),
    "mod_add": ([], [], "7", "1"),
    "padd_377": (PADD, [], "226", "1"),
    "poseidon_sbox": (MUL, MUL, "18 a power", "1"),
    "poseidon_round": (["poseidon_sbox", "goldilocks_mul", "poseidon_constants"], [], "23 a round", "1"),
    "poseidon_perm": (POSEIDON, [], "720", "30"),
    "poseidon_pipe": (POSEIDON, ["poseidon_round"], "720", "1"),
    "transposer": ([], [], "a pass", "1"),
    "poseidon_leaf": (["fifo"], [], "0 to the permutation", "1"),
    "poseidon_branch": (["fifo"], [], "0 to the permutation", "1"),
    "msm_pe": ([], [], "1 to the adder", "1"),
    "msm_pe_377": (["msm_pe", "padd_377", *PADD], [], "227 a point", "1"),
}
PARTS = {
    "dfs_accumulator": MUL,
    "dfs_expander": ["mle_node"],
    "mtu8": ["dfs_accumulator", *MUL],
    "mtu8_forward": ["dfs_expander", "mle_node"],
    "padd_377": ["mont_mul_377", "mod_add"],
    "poseidon_round": ["poseidon_sbox"],
    "poseidon_perm": ["poseidon_round"],
    "poseidon_pipe": ["poseidon_sbox"],
    "msm_pe_377": ["msm_pe", "padd_377"],
}
# The parameter, its value, and the two values that are synthesised.
SCALED = {"msm_pe": ("POINT", 1508, 64, 128)}
SMALLEST = ["goldilocks_mul", "mle_node"]

XILINX = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}"
GATES = "synth -flatten -top {top}"
# The same without memory_map, for modules whose memories are too large to be flip-flops. Their bits are no gates.
WITHOUT = "synth -flatten -top {top} -run begin:fine; opt -fast -full; opt -undriven -fine; techmap; opt -fast; abc -fast; opt -fast"
MEMORIES = {
    "dfs_accumulator", "dfs_expander", "mtu8", "mtu8_forward",
    "transposer", "poseidon_leaf", "poseidon_branch", "padd_377", "msm_pe", "msm_pe_377",
}


def files(module):
    names = [module, *MODULES[module][0]]
    return [next(p for p in (RTL / f"{n}.sv", RTL / f"{n}.svh") if p.exists()) for n in sorted(names)]


def digest(module):
    sha = hashlib.sha256()
    for path in files(module):
        sha.update(f"{path.name}\n".encode() + path.read_bytes())
    return sha.hexdigest()


def commands(module, source=None):
    """Yosys's commands before it counts, for each run. `source` replaces the module's own file."""
    paths = [p for p in files(module) if p.suffix == ".sv"]
    read = " ".join(str(source if source and p.stem == module else p) for p in paths)
    keep = "".join(f" setattr -mod -set keep_hierarchy 1 *{m}*;" for m in MODULES[module][1])
    boxes = "".join(f" blackbox {m} *\\{m} *\\{m}\\*;" for m in PARTS.get(module, []))
    head = f"read_verilog -sv -defer -I{RTL} {read}; hierarchy -check -top {module};{keep}{boxes} "
    return {"xilinx": head + XILINX.format(top=module), "gates": head + (WITHOUT if module in MEMORIES else GATES).format(top=module)}


def counts(log, module):
    """The number of cells of each type in the whole design, from the last output of `stat`, and of parts."""
    text = log[log.rindex("Printing statistics") :]
    section = text.rindex("=== design hierarchy ===") if "=== design hierarchy ===" in text else text.index(f"=== {module} ===")
    cells, parts = {}, {}
    for line in text[section:].splitlines():
        if match := re.fullmatch(r" {5,}(\$paramod\S*\\)?(\$?_?\w+)(\\\S+)?\s+(\d+)", line):
            if match[2] in PARTS.get(module, []):
                parts[match[2]] = parts.get(match[2], 0) + int(match[4])
            elif not match[1] and match[2] not in [module, *MODULES[module][0]]:  # instances of kept modules are not cells
                cells[match[2]] = cells.get(match[2], 0) + int(match[4])
        elif "End of script" in line or "Executing" in line:
            break
    return cells, parts


def measure(yosys, module, run, script):
    """The counts of a run, without parts, and the instances of parts."""
    # Only gates have a depth, and `ltp` takes long on an FPGA's cells. It takes a part for gates from each input to each
    # output: two parts in a ring would be as deep as they have wires between them.
    but = "".join(f" t:*{part}* %d" for part in PARTS.get(module, []))
    count = f"ltp -noff *{but}; stat" if run == "gates" else "stat"
    done = subprocess.run([yosys, "-p", f"{script}; {count}"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{module}: Yosys failed: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    cells, parts = counts(done.stdout, module)

    def total(*prefixes):
        return sum(n for kind, n in cells.items() if kind.startswith(prefixes))

    if run == "xilinx":
        out = {
            "cells": sum(cells.values()),
            "luts": total("LUT", "INV"),
            "carries": total("CARRY"),
            "flip_flops": total("FD"),
            "shift_registers": total("SRL"),
            "lut_memories": total("RAM32", "RAM64", "RAM128", "RAM256", "RAM512"),
            "block_memories": total("RAMB"),
            "dsps": total("DSP48"),
        }
    else:
        registers = total("$_DFF", "$_SDFF", "$_DLATCH")
        depths = [int(n) for n in re.findall(r"Longest topological path in \S+ \(length=(\d+)\)", done.stdout)]
        out = {"gates": sum(cells.values()) - registers, "registers": registers, "depth": max(depths, default=0)}
    return out, parts


def scaled(yosys, module):
    """The counts of each run, from two smaller values of a parameter."""
    name, full, *values = SCALED[module]
    text = files(module)[0].read_text()
    found = []
    for value in values:
        source, changed = re.subn(rf"(parameter int {name} *= ){full}\b", rf"\g<1>{value}", text)
        if changed != 1:
            sys.exit(f"{module}: expected one parameter {name} of {full}, got {changed}")
        with tempfile.NamedTemporaryFile("w", suffix=".sv") as file:
            file.write(source)
            file.flush()
            found.append({r: measure(yosys, module, r, script)[0] for r, script in commands(module, file.name).items()})
    low, high = found
    share = (full - values[0]) / (values[1] - values[0])

    def line(key, a, b):
        return max(a, b) if key == "depth" else round(a + share * (b - a))

    return {run: {key: line(key, low[run][key], high[run][key]) for key in low[run]} for run in low}


def synthesise(yosys, module):
    out = {"sources": digest(module)}
    if module in SCALED:
        for own in scaled(yosys, module).values():
            out |= own
        return out
    for run, script in commands(module).items():
        own, parts = measure(yosys, module, run, script)
        for part in PARTS.get(module, []):
            entry = load()["modules"].get(part, {})
            if entry.get("sources") != digest(part):
                sys.exit(f"{module}: its part {part} has no counts: synthesise {part} before")
            if not parts.get(part):
                sys.exit(f"{module}: no instance of its part {part} was found")
            for key in own:
                n = parts[part]
                own[key] = max(own[key], entry[key]) if key == "depth" else own[key] + n * entry[key]
        out |= own
    return out


def cycles():
    """Latency and interval of the modules with constant ones, synthesised or not. A simulation checks them."""
    constant = {m: (latency, interval) for m, (_, _, latency, interval) in MODULES.items() if latency.isdecimal()}
    return {m: {"latency": int(latency), "interval": int(interval)} for m, (latency, interval) in constant.items()}


def table(modules):
    """The page's table, with a row for each entry."""
    keys = ["cells", "flip_flops", "dsps", "gates", "depth"]
    rows = [f"| `{m}` | {' | '.join(f'{e[k]:,}' for k in keys)} | {MODULES[m][2]} | {MODULES[m][3]} |" for m, e in modules.items()]
    head = ["| module | cells | flip-flops | DSPs | gates | depth | latency | interval |", "|---|---|---|---|---|---|---|---|"]
    return "\n".join(head + rows)


def page(modules):
    """The current page, and the page with the table of these entries."""
    text = PAGE.read_text()
    start, end = text.index("| module | cells |"), text.index("\n\n", text.index("| module | cells |"))
    return text, text[:start] + table(modules) + text[end:]


def load():
    return json.loads(DATA.read_text()) if DATA.exists() else {"yosys": None, "modules": {}}


def main():
    yosys, *names = sys.argv[1:]
    version = re.match(r"Yosys (\S+)", subprocess.run([yosys, "-V"], capture_output=True, text=True, check=True).stdout)[1]
    known = load()

    if names == ["--check"]:
        failed = 0
        for module in MODULES:
            entry = known["modules"].get(module)
            if entry is None:
                print(f"not tested: rtl: synthesis: {DATA} has no entry for {module}: run make synth")
            elif entry["sources"] != digest(module):
                print(f"differs: {DATA} is not of the sources of {module}: run make synth")
                failed += 1
        if known.get("cycles") != cycles():
            print(f"differs: the cycles of {DATA} are not those of scripts/synth.py: run make synth")
            failed += 1
        before, after = page(known["modules"])
        if before != after:
            print(f"differs: the table of {PAGE} is not that of {DATA}: run make synth")
            failed += 1
        if version != known["yosys"]:
            print(f"not tested: rtl: synthesis: {DATA} is by Yosys {known['yosys']}, and this is Yosys {version}")
        else:
            for module in SMALLEST:
                found = synthesise(yosys, module)
                if found != known["modules"].get(module):
                    print(f"differs: {module} is {found}, and {DATA} says {known['modules'].get(module)}")
                    failed += 1
        checks = len(MODULES) + 2 + len(SMALLEST) * (version == known["yosys"])
        print(f"test result: {'FAILED' if failed else 'ok'}. {checks - failed} passed; {failed} failed; (synthesis)")
        sys.exit(failed > 0)

    if unknown := [n for n in names if n not in MODULES and n != "--all"]:
        sys.exit(f"unknown module {unknown[0]}: expected --all, --check or some of {', '.join(MODULES)}")
    if "--all" in names or known["yosys"] not in (None, version):
        names = list(MODULES)
        DATA.unlink(missing_ok=True)
    elif not names:
        names = [m for m in MODULES if known["modules"].get(m, {}).get("sources") != digest(m)]
    for module in names:
        entry = synthesise(yosys, module)
        print(module, json.dumps(entry), flush=True)
        # Another process may have written entries since then.
        modules = load()["modules"] | {module: entry}
        result = {
            "yosys": version,
            "commands": {
                "xilinx": XILINX.format(top="MODULE"),
                "gates": GATES.format(top="MODULE"),
                "gates without memories": WITHOUT.format(top="MODULE"),
            },
            "kept": {m: kept for m, (_, kept, *_) in MODULES.items() if kept},
            "parts": PARTS,
            "scaled": {m: {"parameter": name, "values": values} for m, (name, _, *values) in SCALED.items()},
            "cycles": cycles(),
            "modules": {m: modules[m] for m in MODULES if m in modules},
        }
        DATA.write_text(json.dumps(result, indent=2) + "\n")
    PAGE.write_text(page(load()["modules"])[1])


main()
