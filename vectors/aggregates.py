"""Writes aggregates.json: queries and their answers by SQLite and DuckDB, SQL engines that share nothing with ours.

Integers and texts with nulls; sums stay within 63 bits, which SQLite adds up exactly. Averages are floating-point numbers.
Nothing is written where the two differ.

    pip install duckdb==2.0.1
    python3 aggregates.py > aggregates.json

With a number of cases it writes random tables with queries, all that docs/sql.md says is proven, and their answers by SQLite alone. There numbers
are exact: SQLite counts and adds up integers, by halves of 32 bits, and Python divides.

    python3 aggregates.py --cases 2000 --seed 7
"""

import argparse
import json
import random
import sqlite3
from fractions import Fraction

COLUMNS = [
    ("id", "unsigned", False),
    ("qty", "unsigned", True),
    ("Price", "signed", True),
    ("cost", "signed", False),
    ("big", "unsigned", False),
    ("kind", "bytes", True),
    ("place", "bytes", False),
]
KINDS = ["red", "green", "blue", "", "Red"]
NUMBERS = [c for c in COLUMNS if c[1] != "bytes"]
TEXTS = [c for c in COLUMNS if c[1] == "bytes"]


def cell(kind, nullable):
    if nullable and random.random() < 0.25:
        return None
    if kind == "bytes":
        return random.choice(KINDS)
    if kind == "signed":
        return random.choice([0, 1, -1, random.randint(-9, 9), random.randint(-(2**28), 2**28)])
    return random.choice([0, 1, random.randint(0, 9), random.randint(0, 2**28)])


def row(i):
    out = [cell(kind, nullable) for _, kind, nullable in COLUMNS]
    out[0] = i
    out[4] = random.choice([0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**57 - 1, random.randrange(2**57)])
    return out


def literal(name, rows):
    """A number that is often one of the column's."""
    at = [c[0] for c in COLUMNS].index(name)
    values = [r[at] for r in rows if r[at] is not None]
    x = random.choice(values) + random.choice([0, 0, 0, 1, -1])
    return str(random.choice([x, x, x, -x, 2**62, -(2**62), 10**30, 0]))


def condition(rows, depth):
    r = random.random()
    if depth > 0 and r < 0.6:
        parts = [condition(rows, depth - 1) for _ in range(random.choice([2, 2, 3]))]
        joined = "(" + random.choice([" AND ", " OR "]).join(parts) + ")"
        return f"NOT {joined}" if random.random() < 0.35 else joined
    negation = random.choice(["", "", "NOT "])
    if r < 0.68:
        name = random.choice(COLUMNS)[0]
        return f"{name} IS {negation}NULL"
    if r < 0.75:
        name, _, _ = random.choice(TEXTS)
        op = random.choice(["=", "<>"])
        return f"{negation}{name} {op} '{random.choice(KINDS)}'"
    if r < 0.80:
        name, _, _ = random.choice(TEXTS)
        values = ", ".join(random.choice(["'red'", "'blue'", "''", "NULL", "'x'"]) for _ in range(random.randint(1, 3)))
        return f"{name} {negation}IN ({values})"
    if r < 0.84:
        left, right = random.choice([("Price", "cost"), ("id", "qty"), ("qty", "big"), ("qty", "qty"), ("kind", "place")])
        op = random.choice(["=", "<>"] if left == "kind" else ["=", "<>", "<", "<=", ">", ">="])
        return f"{negation}{left} {op} {right}"
    name, _, _ = random.choice(NUMBERS)
    if r < 0.90:
        values = ", ".join(random.choice([literal(name, rows), literal(name, rows), "NULL"]) for _ in range(random.randint(1, 4)))
        return f"{name} {negation}IN ({values})"
    if r < 0.95:
        low, high = (random.choice([literal(name, rows)] * 5 + ["NULL"]) for _ in range(2))
        return f"{name} {negation}BETWEEN {low} AND {high}"
    op = random.choice(["=", "<>", "<", "<=", ">", ">=", "!="])
    left, right = name, random.choice([literal(name, rows)] * 6 + ["NULL"])
    if random.random() < 0.2:
        left, right = right, left
    return f"{negation}{left} {op} {right}"


AGGREGATES = [
    "COUNT(*)", "COUNT(qty)", "COUNT(kind)", "COUNT(place)", "SUM(qty)", "SUM(Price)", "SUM(cost)", "SUM(big)", "MIN(Price)",
    "MAX(Price)", "MIN(qty)", "MAX(big)", "MIN(cost)", "MAX(cost)", "SUM(qty * Price)", "SUM(cost*cost)", "SUM(qty * id)",
    "AVG(Price)", "AVG(cost)", "AVG(qty)",
]


def text(x):
    return f"~{x!r}" if isinstance(x, float) else None if x is None else str(x)


class Overflow(Exception):
    """SQLite went from integers to floating-point numbers."""


TEXTS_OF_CASES = ["", "r", "red", "Red", "rot", "r\u00f6t", "\u00e9t\u00e9", "\u65e5\u672c", "blue", "it''s"]


class Case:
    """A random table. Arithmetic is a pair: a text of integers for SQLite, and what its value is to be multiplied with."""

    def __init__(self):
        kinds = ["unsigned", "signed", "fixed:2", "fixed:1", "bytes"]
        chosen = ["signed", "bytes"] + [random.choice(kinds) for _ in range(random.randint(1, 5))]
        random.shuffle(chosen)
        self.columns = [(f"c{i}", kind, random.random() < 0.6) for i, kind in enumerate(chosen)]
        # Columns of small numbers only: their products stay integers in SQLite.
        self.small = {n: random.random() < 0.75 for n, _, _ in self.columns}
        self.few = {n: random.random() < 0.6 for n, _, _ in self.columns}
        self.rows = [[self.cell(*c) for c in self.columns] for _ in range(random.choice([0, 1, 2, 5, 9, 14]))]
        self.numbers = [c for c in self.columns if c[1] != "bytes"]
        self.texts = [c for c in self.columns if c[1] == "bytes"]
        self.db = sqlite3.connect(":memory:")
        self.db.execute("PRAGMA case_sensitive_like = ON")
        types = [f"{n} {'TEXT' if k == 'bytes' else 'INTEGER'}" for n, k, _ in self.columns]
        self.db.execute(f"CREATE TABLE t ({', '.join(types)})")
        self.db.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(types))})", self.rows)
        self.integers = []

    def cell(self, name, kind, nullable):
        if nullable and random.random() < 0.3:
            return None
        if kind == "bytes":
            return random.choice(TEXTS_OF_CASES[: 4 if self.few[name] else None]).replace("''", "'")
        signed = kind != "unsigned"
        if self.few[name]:
            return random.choice([0, 1, 2] if not signed else [-1, 0, 1])
        if self.small[name]:
            return random.randint(-30 if signed else 0, 30)
        least, greatest = (-(2**62), 2**62 - 1) if signed else (0, 2**63 - 1)
        near = random.choice([least, greatest, 0, 2**32, 2**53, random.randint(least, greatest)])
        return min(max(near + random.randint(-2, 2), least), greatest)

    def scale(self, kind):
        return int(kind.split(":")[1]) if ":" in kind else 0

    def constant(self):
        """A constant: its text, and its value."""
        text = random.choice(["1", "2", "3", "0.5", "0.9", "1.50", "10", "7", "100.0", ".25"])
        value = Fraction(text)
        if random.random() < 0.2:
            other = random.choice(["2", "4", "3", "8"])
            op = random.choice("+-*/")
            return f"({text} {op} {other})", {"+": value + int(other), "-": value - int(other), "*": value * int(other), "/": value / int(other)}[op]
        return text, value

    def polynomial(self, depth, degree=2):
        """Our text, SQLite's integer text, its factor, and the degree."""
        r = random.random()
        if depth == 0 or r < 0.25:
            if random.random() < 0.25:
                text, value = self.constant()
                return text, str(value.numerator), Fraction(1, value.denominator), 0
            name, kind, _ = random.choice(self.numbers)
            return name, name, Fraction(1, 10 ** self.scale(kind)), 1
        left = self.polynomial(depth - 1, degree)
        if r < 0.75:
            right = self.polynomial(depth - 1, degree)
            op = random.choice("+-")
            unit = Fraction(1, left[2].denominator * right[2].denominator)
            text = f"(({left[1]}) * {left[2] / unit} {op} ({right[1]}) * {right[2] / unit})"
            right_text = f"({right[0]})" if random.random() < 0.9 or op == "-" else right[0]
            return f"({left[0]} {op} {right_text})", text, unit, max(left[3], right[3])
        if r < 0.85:
            text, value = self.constant()
            if value == 0:
                return left
            times = random.random() < 0.5
            factor = value if times else 1 / value
            return f"{left[0] if left[0].isalnum() else '(' + left[0] + ')'} {'*' if times else '/'} {text}", f"(({left[1]}) * {factor.numerator})", left[2] / factor.denominator, left[3]
        if r < 0.9:
            return f"(-({left[0]}))", f"(-({left[1]}))", left[2], left[3]
        right = self.polynomial(depth - 1, degree - left[3])
        if left[3] + right[3] > degree:
            return left
        return f"({left[0]}) * ({right[0]})", f"(({left[1]}) * ({right[1]}))", left[2] * right[2], left[3] + right[3]

    def checked(self, text):
        self.integers.append(text)
        return text

    def literal(self, name, kind):
        """A number near the column's, as its text and in the column's units."""
        at = [c[0] for c in self.columns].index(name)
        units = random.choice([r[at] for r in self.rows if r[at] is not None] + [0, 1, -1, 2**62, -(2**62), 2**63 - 1])
        units += random.choice([0, 0, 0, 1, -1])
        units = max(-(2**63) + 1, min(units, 2**63 - 1))
        scale = self.scale(kind)
        digits = str(abs(units)).rjust(scale + 1, "0")
        text = digits if scale == 0 else f"{digits[:-scale]}.{digits[-scale:]}"
        return ("-" if units < 0 else "") + text, str(units)

    def condition(self, depth, arithmetic=True):
        """Our text, and SQLite's."""
        r = random.random()
        if depth > 0 and r < 0.5:
            parts = [self.condition(depth - 1) for _ in range(random.choice([2, 2, 3]))]
            op = random.choice([" AND ", " OR "])
            negation = "NOT " if random.random() < 0.3 else ""
            return tuple(f"{negation}({op.join(p[i] for p in parts)})" for i in range(2))
        negation = random.choice(["", "", "NOT "])
        if r < 0.56:
            name = random.choice(self.columns)[0]
            return (f"{name} IS {negation}NULL",) * 2
        if r < 0.60:
            op = random.choice(["=", "<>", "<", ">="])
            (l, left), (m, right) = self.constant(), self.constant()
            truth = {"=": left == right, "<>": left != right, "<": left < right, ">=": left >= right}[op]
            return f"{negation}{l} {op} {m}", f"{negation}{int(truth)}"
        name, _, _ = random.choice(self.texts)
        text = random.choice(TEXTS_OF_CASES)
        if r < 0.67:
            op = random.choice(["=", "<>", "<", "<=", ">", ">="])
            return (f"{negation}{name} {op} '{text}'",) * 2
        if r < 0.72:
            values = ", ".join(random.choice([f"'{text}'", "'red'", "NULL"]) for _ in range(random.randint(1, 3)))
            return (f"{name} {negation}IN ({values})",) * 2
        if r < 0.80:
            prefix = text if "'" in text else text[: random.randint(0, 2)]
            return (f"{name} {negation}LIKE '{prefix}{random.choice(['%', '%', ''])}'",) * 2
        name, kind, _ = random.choice(self.numbers)
        if r < 0.84:
            alike = [n for n, k, _ in self.columns if k == kind]
            other, op = random.choice(alike), random.choice(["=", "<>", "<", "<=", ">", ">="])
            if random.random() < 0.4:
                return f"{negation}{name} - {other} {op} 0", self.checked(f"{negation}({name}) - ({other}) {op} 0")
            return (f"{negation}{name} {op} {other}",) * 2
        if r < 0.90:
            # One column, linear.
            text, sqlite, factor = name, name, Fraction(1, 10 ** self.scale(kind))
            for _ in range(random.randint(1, 3)):
                constant, value = self.constant()
                op = random.choice("+-*/")
                if op in "*/":
                    if value == 0:
                        continue
                    value = value if op == "*" else 1 / value
                    text, sqlite, factor = f"({text}) {op} {constant}", f"(({sqlite}) * {value.numerator})", factor / value.denominator
                else:
                    unit = Fraction(1, factor.denominator * value.denominator)
                    sqlite = f"(({sqlite}) * {factor / unit} {op} ({value / unit}))"
                    text, factor = f"({text}) {op} {constant}", unit
            bound, value = self.constant()
            unit = Fraction(1, factor.denominator * value.denominator)
            op = random.choice(["=", "<>", "<", "<=", ">", ">="])
            self.checked(f"({sqlite}) * {factor / unit}")
            return f"{negation}{text} {op} {bound}", f"{negation}({sqlite}) * {factor / unit} {op} {value / unit}"
        low, high = self.literal(name, kind), self.literal(name, kind)
        if r < 0.94:
            return tuple(f"{name} {negation}BETWEEN {low[i]} AND {high[i]}" for i in range(2))
        if r < 0.96:
            return tuple(f"{name} {negation}IN ({low[i]}, NULL, {high[i]})" for i in range(2))
        op = random.choice(["=", "<>", "<", "<=", ">", ">="])
        return tuple(f"{negation}{name} {op} {low[i]}" for i in range(2))

    def total(self, text, filtered):
        """Items of SQLite for the sum of a text, and how it is read."""
        self.checked(text)
        items = [f"SUM(({text}) >> 32){filtered}", f"SUM(({text}) & 4294967295){filtered}"]
        return items, lambda x: None if x[0] is None else (x[0] << 32) + x[1]

    def aggregate(self, grouped):
        """Our text, items of SQLite, and a function from their values to the value: None, a fraction, or (of a root) a float."""
        r = random.random()
        ours, sqlite = ("", "")
        if random.random() < 0.25:
            ours, sqlite = (f" FILTER (WHERE {c})" for c in self.condition(1))
        if r < 0.1:
            return f"COUNT(*){ours}", [f"COUNT(*){sqlite}"], lambda x: Fraction(x[0])
        if r < 0.2:
            name = random.choice(self.columns)[0]
            return f"COUNT({name}){ours}", [f"COUNT({name}){sqlite}"], lambda x: Fraction(x[0])
        if r < 0.3 and not grouped:
            names = sorted({random.choice([c[0] for c in self.columns if self.few[c[0]]] or ["c0"]) for _ in range(random.choice([1, 1, 2]))})
            of = names[0] if len(names) == 1 else f"CASE WHEN {' AND '.join(f'{n} IS NOT NULL' for n in names)} THEN {'||0||'.join(f'quote({n})' for n in names)} END"
            return f"COUNT(DISTINCT {', '.join(names)}){ours}", [f"COUNT(DISTINCT {of}){sqlite}"], lambda x: Fraction(x[0])
        name, kind, _ = random.choice(self.numbers)
        unit = Fraction(1, 10 ** self.scale(kind))
        if r < 0.34 and not grouped and self.few[name]:
            of = random.choice(["SUM", "AVG"])
            items = [f"SUM(DISTINCT {name}){sqlite}", f"COUNT(DISTINCT {name}){sqlite}"]
            return f"{of}(DISTINCT {name}){ours}", items, lambda x: None if x[0] is None else x[0] * unit / (x[1] if of == "AVG" else 1)
        if r < 0.46:
            of = random.choice(["MIN", "MAX"])
            return f"{of}({name}){ours}", [f"{of}({name}){sqlite}"], lambda x: None if x[0] is None else x[0] * unit
        if r < 0.5:
            of, (text, value) = random.choice(["MIN", "MAX"]), self.constant()
            if value != 0:
                items = [f"MIN({name}){sqlite}", f"MAX({name}){sqlite}"]
                best = {"MIN": min, "MAX": max}[of]
                return f"{of}(3 - {name} * {text}){ours}", items, lambda x: None if x[0] is None else best(3 - y * unit * value for y in x)
        if r < 0.56:
            condition = self.condition(1)
            text, of, factor, _ = self.polynomial(1)
            value = random.choice([(text, of, factor), ("1", "1", 1)])
            items, read = self.total(f"CASE WHEN {condition[1]} THEN {value[1]} ELSE 0 END", sqlite)
            return f"SUM(CASE WHEN {condition[0]} THEN {value[0]} ELSE 0 END){ours}", items, lambda x: None if read(x) is None else read(x) * value[2]
        if r < 0.6:
            of, condition = random.choice(["VAR_POP", "VAR_SAMP", "STDDEV_POP"]), self.condition(0)
            (first, read), (second, read_squares) = self.total(name, sqlite), self.total(f"{name} * {name}", sqlite)

            def spread(x):
                n, s, q = x[0], read(x[1:3]), read_squares(x[3:5])
                if n < (2 if of == "VAR_SAMP" else 1):
                    return None
                v = (n * q - s * s) * unit * unit / (n * (n - 1) if of == "VAR_SAMP" else n * n)
                return float(v) ** 0.5 if of == "STDDEV_POP" else v

            return f"{of}({name}){ours}", [f"COUNT({name}){sqlite}"] + first + second, spread
        text, of, factor, degree = self.polynomial(random.choice([0, 0, 1, 2, 3]))
        items, read = self.total(of, sqlite)
        if r < 0.8:
            return f"SUM({text}){ours}", items, lambda x: None if read(x) is None else read(x) * factor
        items.append(f"COUNT({of}){sqlite}")
        return f"AVG({text}){ours}", items, lambda x: None if read(x) is None else Fraction(read(x)) * factor / x[2]

    def item(self, grouped, depth):
        r = random.random()
        if depth == 0 or r < 0.6:
            return self.aggregate(grouped)
        left = self.item(grouped, depth - 1)
        if "STDDEV" in left[0]:
            return left
        if r < 0.7:
            places = random.randint(0, 4)

            def rounded(x):
                y = left[2](x)
                return None if y is None else Fraction((1 if y >= 0 else -1) * int(abs(y) * 10**places + Fraction(1, 2)), 10**places)

            return f"ROUND({left[0]}, {places})", left[1], rounded
        if r < 0.8:
            text, value = self.constant()
            right = (text, [], lambda _: value)
        else:
            right = self.item(grouped, depth - 1)
            if "STDDEV" in right[0]:
                return left
        op, n = random.choice("+-*/"), len(left[1])

        def joined(x):
            y, z = left[2](x[:n]), right[2](x[n:])
            if y is None or z is None or (op == "/" and z == 0):
                return None
            return {"+": lambda: y + z, "-": lambda: y - z, "*": lambda: y * z, "/": lambda: Fraction(y) / z}[op]()

        return f"({left[0]}) {op} ({right[0]})", left[1] + right[1], joined

    def query(self):
        self.integers = []
        few = [n for n, _, _ in self.columns if self.few[n]]
        by = random.sample(few, min(len(few), random.choice([1, 1, 2]))) if random.random() < 0.2 else []
        items = [self.item(bool(by), random.choice([0, 0, 0, 1, 2])) for _ in range(1 if by else random.randint(1, 4))]
        where = self.condition(random.choice([0, 1, 2, 3])) if random.random() < 0.7 else None
        ours = f"SELECT {', '.join(by + [i[0] for i in items])} FROM t"
        sqlite = f"SELECT {', '.join(by + [t for i in items for t in i[1]])} FROM t"
        if where:
            ours, sqlite = f"{ours} WHERE {where[0]}", f"{sqlite} WHERE {where[1]}"
        if by:
            ours, sqlite = (f"{q} GROUP BY {', '.join(by)}" for q in (ours, sqlite))
        for text in self.integers:
            if self.db.execute(f"SELECT COUNT(*) FROM t WHERE typeof({text}) = 'real'").fetchone()[0]:
                raise Overflow
        answers = []
        for row in self.db.execute(sqlite).fetchall():
            key, rest, values = list(row[: len(by)]), row[len(by) :], []
            for _, texts, read in items:
                values.append(text_of(read(rest[: len(texts)])))
                rest = rest[len(texts) :]
            answers.append({"key": key, "values": values})
        return {"sql": ours, "grouped": bool(by), "answers": answers}


def text_of(x):
    return None if x is None else f"~{x!r}" if isinstance(x, float) else str(Fraction(x))


def cases(count):
    """Random tables with twenty queries each."""
    left = count
    while left > 0:
        case = Case()
        queries = []
        while len(queries) < min(left, 20):
            try:
                queries.append(case.query())
            except (Overflow, sqlite3.OperationalError) as e:
                # A sum beyond 63 bits.
                assert isinstance(e, Overflow) or "overflow" in str(e) or "too many" in str(e), e
        left -= len(queries)
        columns = [{"name": n, "type": k, "nullable": null} for n, k, null in case.columns]
        print(json.dumps({"columns": columns, "rows": case.rows, "queries": queries}))


def main():
    import duckdb

    rows = [row(i) for i in range(40)]
    engines = [sqlite3.connect(":memory:"), duckdb.connect()]
    types = {"bytes": "TEXT", "signed": "BIGINT", "unsigned": "BIGINT"}
    for db in engines:
        db.execute("CREATE TABLE t (" + ", ".join(f"{n} {types[k]}" for n, k, _ in COLUMNS) + ")")
        db.executemany("INSERT INTO t VALUES (" + ", ".join("?" * len(COLUMNS)) + ")", rows)
    queries = []
    for n in range(400):
        chosen = random.sample(AGGREGATES, random.randint(1, 5))
        sql = f"SELECT {', '.join(chosen)} FROM t"
        if n >= len(AGGREGATES):
            sql += " WHERE " + condition(rows, random.choice([0, 1, 2, 3]))
        answers = [[text(x) for x in db.execute(sql).fetchone()] for db in engines]
        assert answers[0] == answers[1], (sql, answers)
        queries.append({"sql": sql, "answer": answers[0]})
    columns = [{"name": n, "type": k, "nullable": null} for n, k, null in COLUMNS]
    print("{")
    print(f'"source": "SQLite {sqlite3.sqlite_version} and DuckDB {duckdb.__version__}, by aggregates.py",')
    print(f'"columns": {json.dumps(columns)},')
    print('"rows": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n],")
    print('"queries": [\n' + ",\n".join(json.dumps(q) for q in queries) + "\n]")
    print("}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=41)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    cases(arguments.cases) if arguments.cases else main()
