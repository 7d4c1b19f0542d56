"""Writes dates.json: queries over truth values, dates, timestamps, UUIDs and wide numbers, and their answers by DuckDB.

    pip install duckdb==2.0.1
    python3 dates.py > dates.json
"""

import datetime
import decimal
import json
import random
import uuid

import duckdb

random.seed(46)

COLUMNS = [
    ("id", "unsigned", "BIGINT"),
    ("paid", "boolean", "BOOLEAN"),
    ("seen", "boolean", "BOOLEAN"),
    ("day", "date", "DATE"),
    ("due", "date", "DATE"),
    ("made", "timestamp", "TIMESTAMP"),
    ("key", "uuid", "UUID"),
    ("wide", "integer128", "HUGEINT"),
    ("big", "unsigned128", "UHUGEINT"),
    ("money", "decimal(30,2)", "DECIMAL(30,2)"),
    ("price", "decimal(9,2)", "DECIMAL(9,2)"),
]
UUIDS = [str(uuid.UUID(int=random.getrandbits(128))) for _ in range(5)]
WIDE = [0, -1, 2**63, -(2**100), 2**127 - 1, -(2**127) + 1]
BIG = [0, 1, 2**64, 2**128 - 1]
MONEY = ["0.00", "-0.01", "12345678901234567890.50", "0.10"]
PRICES = ["0.00", "-9999999.99", "9999999.99", "19.99", "0.10"]


def date():
    edges = ["0001-01-01", "9999-12-31", "2024-02-29", "2023-12-31", "2024-01-01", "1969-12-31", "1970-01-01"]
    r = random.random()
    if r < 0.2:
        return random.choice(edges)
    start = datetime.date(2023, 1, 1) if r < 0.8 else datetime.date(1890, 1, 1)
    return str(start + datetime.timedelta(days=random.randrange(1000 if r < 0.8 else 60000)))


def time():
    r = random.random()
    if r < 0.3:
        return random.choice(["00:00:00", "23:59:59.999999", "12:00:00"])
    tail = random.choice(["", f".{random.randrange(10**3):03}", f".{random.randrange(10**6):06}"])
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}{tail}"


def cell(kind):
    if random.random() < 0.2:
        return None
    return {
        "boolean": lambda: random.choice(["true", "false"]),
        "date": date,
        "timestamp": lambda: f"{date()} {time()}",
        "uuid": lambda: random.choice(UUIDS),
        "integer128": lambda: str(random.choice(WIDE)),
        "unsigned128": lambda: str(random.choice(BIG)),
        "decimal(30,2)": lambda: random.choice(MONEY),
        "decimal(9,2)": lambda: random.choice(PRICES),
    }[kind]()


def moment(name):
    kind = "timestamp" if name == "made" else "date"
    text = date() if kind == "date" or random.random() < 0.4 else f"{date()} {time()}"
    if kind == "date":
        return random.choice([f"DATE '{text}'", f"'{text}'", f"CAST('{text}' AS DATE)"])
    return random.choice([f"TIMESTAMP '{text}'", f"'{text}'", f"'{text}'::timestamp"])


ORDER = ["=", "<>", "<", "<=", ">", ">="]


def dated(name):
    """A conjunction that bounds the years of a column, and asks for its months or days."""
    low = random.choice([1899, 1968, 2022, 2023, 2024])
    high = low + random.choice([0, 0, 1, 2])
    bound = random.choice([
        f"EXTRACT(YEAR FROM {name}) BETWEEN {low} AND {high}",
        f"EXTRACT(YEAR FROM {name}) IN ({low}, {high})",
        f"{name} >= '{low}-03-01' AND {name} < '{high + 1}-01-01'",
        f"{name} BETWEEN DATE '{low}-01-15' AND DATE '{high}-12-30'",
    ])
    part, most = random.choice([("MONTH", 13), ("DAY", 32)])
    test = random.choice([
        f"EXTRACT({part} FROM {name}) {random.choice(ORDER)} {random.randrange(0, most + 1)}",
        f"EXTRACT({part} FROM {name}) IN ({random.randrange(1, most)}, {random.randrange(1, most)})",
        f"EXTRACT({part} FROM {name}) BETWEEN {random.randrange(0, 8)} AND {random.randrange(3, most)}",
    ])
    if random.random() < 0.4:
        test = f"({test} OR {simple()})"
    return f"({bound} AND {random.choice(['', '', 'NOT '])}{test})"


def simple():
    r = random.random()
    negation = random.choice(["", "", "NOT "])
    if r < 0.12:
        return f"{negation}{random.choice(['paid', 'seen'])}"
    if r < 0.2:
        return f"{random.choice(['paid', 'seen'])} IS {negation}{random.choice(['TRUE', 'FALSE', 'NULL'])}"
    if r < 0.28:
        return f"{negation}{random.choice(['paid', 'seen'])} {random.choice(ORDER)} {random.choice(['TRUE', 'FALSE', 'NULL', 'seen'])}"
    if r < 0.36:
        key = random.choice(UUIDS)
        return random.choice([f"key {negation}IN ('{key}', '{random.choice(UUIDS)}')", f"{negation}key = UUID '{key.upper()}'", f"key <> '{key}'"])
    if r < 0.44:
        return f"{negation}wide {random.choice(['=', '<>'])} {random.choice(WIDE + [5])}"
    if r < 0.48:
        return f"big {negation}IN ({random.choice(BIG)}, {random.choice(BIG)})"
    if r < 0.54:
        return f"{negation}money {random.choice(['=', '<>'])} {random.choice(MONEY + ['0.1', '0.105'])}"
    if r < 0.6:
        return f"{negation}price {random.choice(ORDER)} {random.choice(PRICES + ['19.995', '100000000'])}"
    if r < 0.66:
        return f"{negation}day {random.choice(ORDER)} due"
    name = random.choice(["day", "due", "made"])
    if r < 0.76:
        return f"{negation}EXTRACT(YEAR FROM {name}) {random.choice(ORDER)} {random.choice([0, 1, 1969, 2023, 2024, 9999, 10000])}"
    if r < 0.82:
        return dated(name)
    if r < 0.88:
        return f"{name} {negation}BETWEEN {moment(name)} AND {moment(name)}"
    if r < 0.92:
        return f"{name} {negation}IN ({moment(name)}, {moment(name)})"
    return f"{negation}{name} {random.choice(ORDER)} {moment(name)}"


def condition(depth):
    if depth > 0 and random.random() < 0.6:
        parts = [condition(depth - 1) for _ in range(random.choice([2, 2, 3]))]
        joined = "(" + random.choice([" AND ", " OR "]).join(parts) + ")"
        return f"NOT {joined}" if random.random() < 0.35 else joined
    return simple()


AGGREGATES = [
    "COUNT(*)", "COUNT(paid)", "COUNT(day)", "COUNT(key)", "COUNT(wide)", "COUNT(money)", "MIN(day)", "MAX(day)", "MIN(made)", "MAX(made)",
    "MIN(due)", "MIN(paid)", "MAX(seen)", "SUM(price)", "MIN(price)", "MAX(price)", "COUNT(*) FILTER (WHERE paid)",
    "MAX(CASE WHEN NOT seen THEN day END)",
]
GROUPS = [
    "paid", "key", "wide", "money", "paid, seen", "EXTRACT(YEAR FROM day)", "EXTRACT(YEAR FROM day), EXTRACT(MONTH FROM day)",
    "date_trunc('year', made)", "date_trunc('month', day)", "EXTRACT(YEAR FROM made), paid", "date_trunc('day', due)",
    "EXTRACT(MONTH FROM day)", "EXTRACT(YEAR FROM day), EXTRACT(YEAR FROM due)",
]


def text(x):
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, datetime.datetime):
        places = "" if x.microsecond == 0 else f".{x.microsecond // 1000:03}" if x.microsecond % 1000 == 0 else f".{x.microsecond:06}"
        return f"{x.year:04}-{x.month:02}-{x.day:02}T{x.hour:02}:{x.minute:02}:{x.second:02}{places}Z"
    if isinstance(x, datetime.date):
        return f"{x.year:04}-{x.month:02}-{x.day:02}"
    if isinstance(x, decimal.Decimal):
        return f"{x:f}"
    return None if x is None else str(x)


def main():
    rows = [[str(i)] + [cell(kind) for _, kind, _ in COLUMNS[1:]] for i in range(60)]
    db = duckdb.connect()
    db.execute("CREATE TABLE t (" + ", ".join(f'"{n}" {t}' for n, _, t in COLUMNS) + ")")
    db.executemany("INSERT INTO t VALUES (" + ", ".join(f"CAST(? AS {t})" for _, _, t in COLUMNS) + ")", rows)
    queries = []
    for n in range(400):
        chosen = random.sample(AGGREGATES, random.randint(1, 5))
        sql = f"SELECT {', '.join(chosen)} FROM t WHERE {condition(random.choice([0, 1, 2, 3]))}"
        queries.append({"sql": sql, "answer": [text(x) for x in db.execute(sql).fetchone()]})
    for n in range(100):
        keys = GROUPS[n % len(GROUPS)]
        where = f" WHERE {condition(1)}"
        if keys == "EXTRACT(MONTH FROM day)":
            where = " WHERE EXTRACT(YEAR FROM day) = 2024 AND id <> 5"
        elif keys == "date_trunc('day', due)":
            where = " WHERE EXTRACT(YEAR FROM due) = 2024"
        elif n < len(GROUPS) and "MONTH" not in keys and "month" not in keys:
            where = ""
        sql = f"SELECT {', '.join(random.sample(AGGREGATES, 2))} FROM t{where} GROUP BY {keys}"
        printed = sql.replace("SELECT ", f"SELECT {keys}, ", 1)
        # DuckDB truncates dates to timestamps in some versions.
        answer = [[text(x) for x in r] for r in db.execute(printed).fetchall()]
        if "date_trunc" in keys and ", made)" not in keys:
            answer = [[r[0] and r[0][:10]] + r[1:] for r in answer]
        # A query has at most 64 sums and counts.
        if len(answer) <= 12:
            queries.append({"sql": printed, "groups": sorted(answer, key=str)})
    columns = [{"name": n, "type": k, "nullable": n != "id"} for n, k, _ in COLUMNS]
    print("{")
    print(f'"source": "DuckDB {duckdb.__version__}, by dates.py",')
    print(f'"columns": {json.dumps(columns)},')
    print('"rows": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n],")
    print('"queries": [\n' + ",\n".join(json.dumps(q) for q in queries) + "\n]")
    print("}")


main()
