"""Writes columns.json: cells of the types that are not of Solidity's ABI, as text and as field elements, and texts that are no cells.

    python3 columns.py > columns.json
"""

import json

from grove.field import digest_text
from grove.refusal import Refusal
from grove.rows import cell_elements, schema_digest

UUID = "00112233-4455-6677-8899-aabbccddeeff"
CELLS = {
    "boolean": ["true", "false", "TRUE", "0"],
    "date": ["1970-01-01", "0001-01-01", "9999-12-31", "2000-02-29", "2024-02-29", "1969-12-31"],
    "timestamp": [
        "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29 12:34:56", "2024-02-29",
        "2024-01-31T23:30:00.5-01:00", "2024-03-01T00:30+0100", "1969-12-31T23:59:59.999999z", "2024-01-31 00:00:00.123456000+00",
    ],
    "uuid": [UUID, UUID.upper(), "00000000-0000-0000-0000-000000000000"],
    "integer128": ["0", "-1", "1", str(2**127 - 1), str(-(2**127))],
    "unsigned128": ["0", "1", str(2**64), str(2**128 - 1)],
    "decimal(9,2)": ["0.1", "-0.01", "9999999.99", "-9999999.99", "5"],
    "decimal(18,18)": ["0.999999999999999999"],
    "decimal(19,0)": ["9999999999999999999", "-1"],
    "decimal(38,2)": ["0.10", "-123456789012345678901234567890.5"],
    "fixed:2": ["-1.5"],
    "signed": ["-1"],
    "unsigned": ["true"],
    "bytes": ["Evergrove"],
}
NOT_CELLS = {
    "boolean": ["yes", "2", "t", " true"],
    "date": ["2023-02-29", "1900-02-29", "2024-1-31", "0000-12-31", "10000-01-01", "20240131", "2024-01-31T00:00:00Z"],
    "timestamp": ["2024-01-31T24:00:00Z", "2024-01-31T12:00:60Z", "2024-01-31 12:00:00.0000001", "2024-01-31 12:00:00 UTC", "9999-12-31T23:59:59-00:01", "0"],
    "uuid": [UUID.replace("-", ""), UUID[:-1], "{" + UUID + "}", UUID[:-1] + "g"],
    "integer128": [str(2**127), "1.5", ""],
    "unsigned128": [str(2**128), "-1"],
    "decimal(9,2)": ["10000000", "0.001", "1e3"],
    "decimal(38,38)": ["1"],
}


def column(kind, nullable=False):
    return {"name": "c", "type": kind, "nullable": nullable}


def is_cell(kind, text):
    try:
        return bool(cell_elements(column(kind), text))
    except Refusal:
        return False


def main():
    cells = [[kind, text, [str(x) for x in cell_elements(column(kind), text)]] for kind in CELLS for text in CELLS[kind]]
    nulls = [[kind, [str(x) for x in cell_elements(column(kind, True), "")]] for kind in CELLS]
    wrong = [[kind, text] for kind in NOT_CELLS for text in NOT_CELLS[kind]]
    assert not any(is_cell(*pair) for pair in wrong), wrong
    digests = [[kind, digest_text(schema_digest([column(kind, True)]))] for kind in CELLS]
    out = {"cells": cells, "nulls": nulls, "not_cells": wrong, "schema_digests": digests}
    print("{")
    lines = (f'"{name}": [\n' + ",\n".join(json.dumps(x) for x in found) + "\n]" for name, found in out.items())
    print(",\n".join(lines))
    print("}")


main()
