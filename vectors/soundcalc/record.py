#!/usr/bin/env python3
"""Records the figures of ethereum/soundcalc: systems.json from its configurations and reports, evergrove.json from our
configurations beside it.

Usage: record.py SOUNDCALC, with a checkout of soundcalc at the commit in vectors/README.md, and the Python package toml.

Its reports print whole bits, rounded down. A figure here is [printed, bits]: what the report has, and what soundcalc computes before it rounds.
"""

import json
import math
import sys
from pathlib import Path

here = Path(__file__).parent
checkout = Path(sys.argv[1])
sys.path.insert(0, str(checkout))

import toml
from soundcalc.circuits import deep_ali, jagged
from soundcalc.common import fields
from soundcalc.lookups import logup
from soundcalc.pcs import fri, whir
from soundcalc.zkvms.zkvm import zkVM

for module in (deep_ali, jagged, logup, fri, whir):
    module.get_bits_of_security_from_error = lambda error: -math.log2(error)

SYSTEMS = ["zisk", "sp1", "openvm", "pico", "airbender", "zkdtvm", "dummy_whir"]
# Configurations have more entries, which soundcalc does not read or which sizes of proofs alone depend on.
USED = """
name rho trace_length batch_size power_batching multilinear_batching num_queries fri_folding_factors fri_early_stop_degree
grinding_query_phase grinding_commit_phase grinding_batching_phase grinding_deep gap_to_radius num_constraints air_max_degree
opening_points dense_length dense_batch trace_columns log_inv_rate num_iterations folding_factors log_degree constraint_degree
grinding_bits_folding grinding_bits_queries num_ood_samples grinding_bits_ood lookups
""".split()
# The loader of this family does not read it.
IGNORED = {"JAGGED": ["grinding_commit_phase"]}


def printed(path):
    """The tables of a report: circuit, regime, term."""
    tables, circuit, header = {}, None, None
    for line in path.read_text().splitlines():
        if line.startswith("## "):
            circuit = line[3:]
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("| regime"):
            header = cells[1:]
        elif line.startswith(("| UDR", "| JBR")):
            row = tables.setdefault(circuit, {}).setdefault(cells[0], {})
            row.update((name, int(cell)) for name, cell in zip(header, cells[1:]) if cell != "—")
    return tables


def system(path, report):
    config = toml.load(path)
    head = config["zkevm"]
    field = fields.parse_field(head["field"])
    tables = printed(report) if report else None
    if tables and len(config["circuits"]) == 1:
        # Such a report has no heading for its circuit.
        tables = {config["circuits"][0]["name"]: tables[None]}
    circuits = []
    for section, circuit in zip(config["circuits"], zkVM.load_from_toml(path).get_circuits()):
        names = [lookup.get_name() for lookup in circuit.get_lookups()]
        assert len(names) == len(set(names)), circuit.name
        levels = circuit.get_security_levels()
        whole = {regime: {name: math.floor(bits) for name, bits in terms.items()} for regime, terms in levels.items()}
        if tables:
            assert whole == tables[circuit.name], (path, circuit.name)
            whole = tables[circuit.name]
        figures = {
            regime: {name: [whole[regime][name], round(bits, 4)] for name, bits in terms.items()}
            for regime, terms in levels.items()
        }
        ignored = IGNORED.get(head["protocol_family"], [])
        parameters = {name: section[name] for name in USED if name in section and name not in ignored}
        circuits.append(parameters | {"figures": figures})
    return {
        "name": head["name"],
        "version": head.get("version"),
        "family": head["protocol_family"],
        "field": {"order": str(field.p), "degree": field.field_extension_degree},
        "circuits": circuits,
    }


def write(path, systems):
    lines = []
    for system in systems:
        circuits = ",\n".join(json.dumps(circuit, separators=(",", ":")) for circuit in system.pop("circuits"))
        lines.append(json.dumps(system)[:-1] + ', "circuits": [\n' + circuits + "\n]}")
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


configs = checkout / "soundcalc" / "zkvms"
reports = {name: checkout / "reports" / f"{name.replace('_', '')}.md" for name in SYSTEMS}
write(here / "systems.json", [system(configs / name / f"{name}.toml", reports[name]) for name in SYSTEMS])
own = ["plonky2", "grove-100", "grove-128"]
write(here / "evergrove.json", [system(here / f"{name}.toml", None) for name in own])
