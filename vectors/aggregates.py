"""Writes aggregates.json: queries and their answers by SQLite and DuckDB, SQL engines that share nothing with ours.

Integers and texts with nulls; sums stay within 63 bits, which SQLite adds up exactly. Averages are floating-point numbers.
Nothing is written where the two differ.

    pip install duckdb==2.0.1
    python3 aggregates.py > aggregates.json
"""

import json
import random
import sqlite3

import duckdb

random.seed(41)

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


def main():
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


main()
