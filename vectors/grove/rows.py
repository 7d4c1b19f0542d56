"""Rows of a csv file by a schema (docs/cli.md, Tables and Schemas; docs/formats.md, Schema)."""
import csv, io, re

from reference import P
from grove.field import byte_sponge, leaf, sponge, tag
from grove.refusal import Refusal, read_file

RAW = [{"name": f"e{i}", "type": "element", "nullable": False} for i in range(4)]


def read_schema(text):
    import tomllib

    try:
        table = tomllib.loads(text)
        if table.get("raw") is True:
            return RAW
        columns = [{"name": c["name"], "type": c["type"], "nullable": c.get("nullable", False)} for c in table["column"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as e:
        raise Refusal("bad-rows", f"not a schema: {e}") from None
    for c in columns:
        strings = isinstance(c["name"], str) and isinstance(c["type"], str) and isinstance(c["nullable"], bool)
        if not strings or not re.fullmatch(r"unsigned|signed|bytes|fixed:(1[0-8]|[0-9])", c["type"]):
            raise Refusal("bad-rows", f"column {c['name']}: unknown type {c['type']}")
    return columns


def schema_digest(columns):
    """Version 1, the number of columns, and each column's name, type and 1 where nulls are allowed (postcard)."""

    def text(x):
        data = x.encode()
        return varint(len(data)) + data

    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    columns = [] if columns is RAW else columns
    data = b"\x01" + varint(len(columns))
    for c in columns:
        data += text(c["name"]) + text(c["type"]) + bytes([c["nullable"]])
    return byte_sponge(data, "SCHM")


def cell_elements(column, cell):
    kind, bad = column["type"], Refusal("bad-rows", f"column {column['name']}: {cell!r} is not of type {column['type']}")
    if cell == "" and column["nullable"]:
        return [1 << 63] + [0] * (3 if kind == "bytes" else 0)
    if kind == "bytes":
        return byte_sponge(cell.encode(errors="surrogateescape"), "BYTE")
    places = int(kind[6:]) if kind.startswith("fixed") else 0
    m = re.fullmatch(r"([+-]?)([0-9]{1,40})(?:\.([0-9]{1,18}))?", cell, re.ASCII)
    if not m or len(m[3] or "") > places:
        raise bad
    x = int(m[1] + m[2] + (m[3] or "").ljust(places, "0"))
    if kind in ("unsigned", "element"):
        if not 0 <= x < (1 << 63 if kind == "unsigned" else P):
            raise bad
        return [x]
    if not -(1 << 62) <= x < 1 << 62:
        raise bad
    return [x + (1 << 62)]


def row_value(columns, cells):
    elements = [x for column, cell in zip(columns, cells) for x in cell_elements(column, cell)]
    if len(elements) <= 4:
        return elements + [0] * (4 - len(elements))
    return sponge(elements, (tag("ROWE") << 32) + len(elements))


def read_rows(text, columns):
    """(index, leaf digest) by increasing index, of a csv file with a column `index` and all columns of the schema."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as e:
        raise Refusal("bad-rows", f"not a csv file: {e}") from None
    names = [c["name"] for c in columns]
    if not rows or sorted(rows[0]) != sorted(["index", *names]):
        raise Refusal("bad-rows", f"columns {rows[0] if rows else []} (expected index and {names})")
    order = [rows[0].index(name) for name in names]
    at, out = rows[0].index("index"), {}
    for row in rows[1:]:
        if len(row) != len(rows[0]) or not re.fullmatch(r"[0-9]{1,13}", row[at], re.ASCII):
            raise Refusal("bad-rows", f"not a row with a position: {row}")
        index = int(row[at])
        if index in out or index >= 1 << 40:
            raise Refusal("bad-rows", f"position {index} is duplicate or beyond any tree")
        out[index] = leaf(index, row_value(columns, [row[i] for i in order]))
    return sorted(out.items())


def read_table(rows, schema):
    """Leaves and columns of a csv file of rows; cells may hold any bytes."""
    columns = RAW
    if schema:
        columns = read_schema(read_file(schema).decode(errors="replace"))
    return read_rows(read_file(rows).decode(errors="surrogateescape"), columns), columns
