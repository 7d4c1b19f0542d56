"""Rows of a csv file by a schema (docs/cli.md, Tables and Schemas; docs/formats.md, Schema)."""
import csv, datetime, io, re, unicodedata

from ethereum import keccak
from reference import P
from grove.field import byte_sponge, leaf, sponge, tag
from grove.refusal import Refusal, read_file

ABI = r"address|bool|(?:u?int)(?:8|16|24|32|40|48|56|64|72|80|88|96|[12][0-9]{2})|bytes(?:[1-9]|[12][0-9]|3[0-2])"
DECIMAL = r"decimal\(([1-9]|[12][0-9]|3[0-8]),(0|[1-9]|[12][0-9]|3[0-8])\)"
EPOCH = datetime.datetime(1970, 1, 1)
RAW = [{"name": f"e{i}", "type": "element", "nullable": False} for i in range(4)]


def is_abi(kind):
    return re.fullmatch(ABI, kind) is not None


def bits(kind):
    """The bits of an ABI type of integers that is a multiple of 8, else 8."""
    digits = kind.partition("int")[2]
    return 8 if not digits.isdigit() else int(digits) if int(digits) % 8 == 0 else 0


def decimal(kind):
    """Digits and places of a decimal type, None of others."""
    m = re.fullmatch(DECIMAL, kind)
    return (int(m[1]), int(m[2])) if m else None


def is_wide(kind):
    """True of types of four elements."""
    return kind in ("bytes", "uuid", "integer128", "unsigned128") or bool(decimal(kind)) and decimal(kind)[0] > 18


def micros(text):
    """The microseconds from 1970 to a timestamp, None of other texts."""
    m = re.fullmatch(
        r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})0*)?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?", text, re.ASCII
    )
    try:
        hour, minute, second, over, under = (int(x or 0) for x in (m[2], m[3], m[4], m[7], m[8]))
        if over > 23 or under > 59:
            return None
        of_second = int((m[5] or "0").ljust(6, "0"))
        local = datetime.datetime.fromisoformat(m[1]).replace(hour=hour, minute=minute, second=second, microsecond=of_second)
        offset = datetime.timedelta(hours=over, minutes=under) * (-1 if m[6] == "-" else 1)
        return (local - offset - EPOCH) // datetime.timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None


def days(text):
    try:
        return (datetime.datetime.fromisoformat(text) - EPOCH).days if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) else None
    except ValueError:
        return None


def quarters(x):
    return [x >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)]


def read_schema(text):
    import tomllib

    try:
        table = tomllib.loads(text)
        if set(table) - {"raw", "column"} or not isinstance(table.get("raw", False), bool):
            raise Refusal("bad-rows", f"not a schema: it has {sorted(table)} (expected column, or raw = true)")
        if table.get("raw"):
            if table.get("column"):
                raise Refusal("bad-rows", "not a schema: raw = true excludes columns")
            return RAW
        found = table.get("column", [])
        if any(set(c) - {"name", "type", "nullable"} for c in found):
            raise Refusal("bad-rows", "not a schema: a column has other fields than name, type and nullable")
        columns = [{"name": c["name"], "type": c["type"], "nullable": c.get("nullable", False)} for c in found]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as e:
        raise Refusal("bad-rows", f"not a schema: {e}") from None
    for c in columns:
        strings = isinstance(c["name"], str) and isinstance(c["type"], str) and isinstance(c["nullable"], bool)
        named = rf"unsigned|signed|bytes|fixed:(1[0-8]|[0-9])|boolean|date|timestamp|uuid|integer128|unsigned128|{DECIMAL}|{ABI}"
        known = strings and re.fullmatch(named, c["type"]) and (not is_abi(c["type"]) or 8 <= bits(c["type"]) <= 256)
        if known and decimal(c["type"]):
            known = decimal(c["type"])[1] <= decimal(c["type"])[0]
        if not known:
            raise Refusal("bad-rows", f"column {c['name']}: unknown type {c['type']}")
        if c["nullable"] and is_abi(c["type"]):
            raise Refusal("bad-rows", f"column {c['name']}: type {c['type']} has no null")
        if not 1 <= len(c["name"].encode()) <= 128 or any(unicodedata.category(x) == "Cc" for x in c["name"]):
            raise Refusal("bad-rows", f"column {c['name']!r}: a name has 1 to 128 bytes and no control characters")
    if not 1 <= len(columns) <= 1024 or len({c["name"] for c in columns}) < len(columns):
        raise Refusal("bad-rows", "not a schema: expected 1 to 1024 columns with different names")
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
        return [1 << 63] + [0] * (3 if is_wide(kind) else 0)
    if is_abi(kind):
        word = abi_word(kind, cell)
        if word is None:
            raise bad
        return [int.from_bytes(word[i : i + 4], "little") for i in range(0, 32, 4)]
    if kind == "bytes":
        return byte_sponge(cell.encode(errors="surrogateescape"), "BYTE")
    if kind == "boolean":
        truth = {"true": 1, "1": 1, "false": 0, "0": 0}.get(cell.lower() if cell.isascii() else cell)
        if truth is None:
            raise bad
        return [truth]
    if kind in ("date", "timestamp"):
        x = (days if kind == "date" else micros)(cell)
        if x is None:
            raise bad
        return [x + (1 << 62)]
    if kind == "uuid":
        if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", cell):
            raise bad
        return quarters(int(cell.replace("-", ""), 16))
    if kind in ("unsigned", "signed"):
        cell = {"true": "1", "false": "0"}.get(cell, cell)
    places = int(kind[6:]) if kind.startswith("fixed") else decimal(kind)[1] if decimal(kind) else 0
    sign = "" if kind == "element" else "-?"
    point = "" if kind in ("unsigned", "unsigned128", "element") else r"(?:\.([0-9]+))?"
    m = re.fullmatch(rf"({sign})([0-9]+){point}", cell, re.ASCII)
    fraction = (m[3] or "").rstrip("0") if m and point else ""
    # Longer numbers are beyond the range of every type.
    if not m or len(fraction) > places or len(m[2].lstrip("0")) > 40:
        raise bad
    x = int(m[1] + m[2].lstrip("0").rjust(1, "0") + fraction.ljust(places, "0"))
    if kind in ("unsigned", "element"):
        if not 0 <= x < (1 << 63 if kind == "unsigned" else P):
            raise bad
        return [x]
    if decimal(kind) and abs(x) >= 10 ** decimal(kind)[0]:
        raise bad
    if kind == "unsigned128":
        if not 0 <= x < 1 << 128:
            raise bad
        return quarters(x)
    if is_wide(kind):
        if not -(1 << 127) <= x < 1 << 127:
            raise bad
        return quarters(x + (1 << 127))
    if not -(1 << 62) <= x < 1 << 62:
        raise bad
    return [x + (1 << 62)]


def abi_word(kind, cell):
    """The word of Solidity's ABI that a text is of a type, None where it is not of the type."""
    if kind == "bool":
        return {"false": bytes(32), "true": bytes(31) + b"\x01"}.get(cell)
    if "int" in kind:
        if not re.fullmatch(r"-?[0-9]{1,1000000}", cell, re.ASCII):
            return None
        digits = cell.lstrip("-").lstrip("0")
        x = int(digits or "0") * (-1 if cell[0] == "-" else 1) if len(digits) < 80 else 1 << 256
        low, high = (0, 1 << bits(kind)) if kind[0] == "u" else (-1 << bits(kind) - 1, 1 << bits(kind) - 1)
        return (x % (1 << 256)).to_bytes(32, "big") if low <= x < high else None
    size = 20 if kind == "address" else int(kind[5:])
    if not re.fullmatch(rf"0x[0-9a-fA-F]{{{2 * size}}}", cell):
        return None
    digits = cell[2:]
    if kind == "address" and digits not in (digits.lower(), digits.upper()):
        # EIP-55: a letter is upper case where the digit of the hash is 8 or more.
        case = keccak(digits.lower().encode()).hex()
        if any(d.isalpha() and d.isupper() != (h > "7") for d, h in zip(digits, case)):
            return None
    data = bytes.fromhex(digits)
    return data.rjust(32, b"\0") if kind == "address" else data.ljust(32, b"\0")


def row_value(columns, cells):
    elements = [x for column, cell in zip(columns, cells) for x in cell_elements(column, cell)]
    if len(elements) <= 4:
        return elements + [0] * (4 - len(elements))
    return sponge(elements, (tag("ROWE") << 32) + len(elements))


def records(text):
    """The records of a csv text by RFC 4180: a quoted cell is closed, and a separator or an end of a line follows the closing quote."""
    csv.field_size_limit(1 << 28)
    # Lines end in LF, CRLF and CR, within quotes too.
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    begun = 1
    try:
        for row in reader:
            yield row
            begun = reader.line_num + 1
    except csv.Error as e:
        raise Refusal("bad-rows", f"not a csv file, in the record of line {begun}: {e}") from None


def read_rows(text, columns):
    """(index, leaf digest) by increasing index, of a csv file with a column of positions and all columns of the schema."""
    rows = [row for row in records(text) if row]
    names = [c["name"] for c in columns]
    position = "index"
    while position in names:
        position += "_"
    if not rows or sorted(rows[0]) != sorted([position, *names]):
        raise Refusal("bad-rows", f"columns {rows[0] if rows else []} (expected {position} and {names})")
    order = [rows[0].index(name) for name in names]
    at, out = rows[0].index(position), {}
    for row in rows[1:]:
        if len(row) != len(rows[0]) or not re.fullmatch(r"0*[0-9]{1,13}", row[at], re.ASCII):
            raise Refusal("bad-rows", f"not a row with a position: {row}")
        index = int(row[at].lstrip("0") or "0")
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
