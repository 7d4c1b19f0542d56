#!/usr/bin/env python3
"""Runs the example in C on good and bad inputs, and compares its verdicts with the second verifier.

usage: test_c.py [--second [--table]] [--every N] FOLDER VERIFY ..

FOLDER has NAME.proof, NAME.key, NAME.csv and NAME.json of each profile; the test `python` of crates/grove writes them.
VERIFY and its words are the command, under valgrind for instance. With --second vectors/verifier.py judges each case too,
and both must answer with the same code; --table prints both sentences. --every N takes the first of N cases, for slow commands.
"""
import argparse, json, os, re, struct, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = (ROOT / "crates/ffi/include/evergrove.h").read_text()
CODES = {int(n): name.lower().replace("_", "-") for name, n in re.findall(r"EVG_CODE_(\w+) = (\d+),", HEADER)}
EXIT = {"accepted": 0, "usage": 2, "unreadable": 2, "bad-rows": 2, "key-missing": 3}
PROFILES = {"grove-100": [], "grove-128": ["--allow-profile", "grove-128"]}

# "wrong-rows" are valid rows that are not in the proof; "bad-rows" are invalid.
A = '[[column]]\nname = "a"\ntype = "{}"\n'
ROWS = [
    *((A.format("unsigned"), f"index,a\n1,{x}\n", "wrong-rows") for x in ["0", "007", "-0", "9223372036854775807", '"5"', "5\r", "0" * 50 + "1"]),
    *((A.format("unsigned"), f"index,a\n1,{x}\n", "bad-rows") for x in ["", "-1", "+1", "1.0", "1e3", " 1", "9223372036854775808", "9" * 50, "\u0661"]),
    *((A.format("signed"), f"index,a\n1,{x}\n", "wrong-rows") for x in ["-5", "1.0", "-0.00", "4611686018427387903", "-4611686018427387904"]),
    *((A.format("signed"), f"index,a\n1,{x}\n", "bad-rows") for x in ["+5", "1.", ".5", "1.5", "-", "--1", "4611686018427387904", "1_0"]),
    *((A.format("fixed:2"), f"index,a\n1,{x}\n", "wrong-rows") for x in ["1", "1.5", "-1.25", "1.2500", "0.00", "-46116860184273879.04"]),
    *((A.format("fixed:2"), f"index,a\n1,{x}\n", "bad-rows") for x in ["1.255", "1,5", "46116860184273879.04", "1.5e0"]),
    *((A.format("bytes"), f"index,a\n1,{x}\n", "wrong-rows") for x in ["", '"a ""b"""', 'x"y', '"a\nb"', "\u00e9", "x" * 200000]),
    *((A.format(kind), f"index,a\n1,{x}\n", "wrong-rows") for kind, x in [
        ("address", "0x" + "ab" * 20), ("address", "0x" + "AB" * 20), ("address", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), ("bool", "true"),
        ("uint8", "0255"), ("uint256", str(2**256 - 1)), ("int8", "-128"), ("int8", "-0"), ("int256", str(-(2**255))), ("bytes4", "0xA9059cbb")]),
    *((A.format(kind), f"index,a\n1,{x}\n", "bad-rows") for kind, x in [
        ("address", ""), ("address", "ab" * 20), ("address", "0x" + "ab" * 21), ("address", "0X" + "ab" * 20), ("address", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
        ("bool", "1"), ("bool", "True"), ("uint8", "256"), ("uint8", "-1"), ("uint8", "+1"), ("uint8", "1.0"), ("uint256", str(2**256)), ("uint256", "0x1"),
        ("uint256", "9" * 2000), ("int8", "128"), ("int8", "-129"), ("int256", str(2**255)), ("bytes4", "0xa9059cbbaa"), ("bytes4", "a9059cbb"), ("bytes4", "0xa9059cbg")]),
    *((A.format(kind), f"index,a\n1,{x}\n", "wrong-rows") for kind, x in [
        ("boolean", "true"), ("boolean", "FALSE"), ("boolean", "1"), ("date", "2024-02-29"), ("date", "0001-01-01"), ("timestamp", "2024-02-29"), ("timestamp", "2024-02-29 12:34"),
        ("timestamp", "2024-02-29T12:34:56.1234560+01:00"), ("uuid", "00112233-4455-6677-8899-AABBCCDDEEFF"), ("integer128", str(-(2**127))), ("integer128", "1.0"),
        ("unsigned128", str(2**128 - 1)), ("unsigned128", "-0"), ("decimal(38,38)", "0." + "9" * 38), ("decimal(9,2)", "-9999999.99")]),
    *((A.format(kind), f"index,a\n1,{x}\n", "bad-rows") for kind, x in [
        ("boolean", "yes"), ("boolean", ""), ("date", "2023-02-29"), ("date", "2024-2-29"), ("date", "0000-01-01"), ("timestamp", "2024-02-29T24:00"), ("timestamp", "2024-02-29T12:34:56.1234567"),
        ("timestamp", "2024-02-29T12:34:60Z"), ("timestamp", "0001-01-01T00:00:00+00:01"), ("uuid", "00112233445566778899aabbccddeeff"), ("integer128", str(2**127)),
        ("unsigned128", str(2**128)), ("unsigned128", "1.0"), ("decimal(38,38)", "1"), ("decimal(9,2)", "10000000")]),
    (A.format("bytes") + "nullable = true\n", "index,a\n1,\n", "wrong-rows"),
    *((A.format("bytes"), f"index,a\n1,{x}", "bad-rows") for x in ['"x', '"x"y', '"x" ,2']),
    (A.format("bytes"), "\ufeffindex,a\n1,x\n", "wrong-rows"),
    (A.format("bytes"), "\n\nindex,a\n\n1,x\n\n", "wrong-rows"),
    (A.format("bytes"), "index,a\r1,x\r2,y", "wrong-rows"),
    (A.format("bytes"), "a,index\nx,0001\n", "wrong-rows"),
    *((A.format("bytes"), f"index,a\n{x},x\n", "bad-rows") for x in ["", "-1", "+1", "1.0", "1099511627776", "x", " 1", "9" * 30]),
    *((A.format("bytes"), text, "bad-rows") for text in ["", "a\n", "index\n1\n", "index,a,a\n1,x,x\n", "index,a,b\n1,x,y\n", "index,a\n1\n", "index,a\n1,x,y\n", "index, a\n1,x\n"]),
    (A.format("bytes").replace('"a"', '"index"'), "index_,index\n1,x\n", "wrong-rows"),
    (A.format("bytes").replace('"a"', '"index"'), "index\nx\n", "bad-rows"),
    ("raw = true", "index,e0,e1,e2,e3\n1,0,00,2,18446744069414584320\n", "wrong-rows"),
    *((None, f"index,e0,e1,e2,e3\n1,0,1,2,{x}\n", "bad-rows") for x in ["", "-1", "-0", "+1", "1.0", "18446744069414584321", "18446744073709551616"]),
    *((schema, "index,a\n1,x\n", "bad-rows") for schema in ["# none", "raw = 1", "raw = true\n" + A.format("bytes"), "row = true", A.format("text"),
      A.format("fixed:19"), A.format("fixed:02"), *map(A.format, ["decimal(39,0)", "decimal(2,3)", "decimal(0,0)", "decimal(2, 1)", "decimal(02,1)", "Date", "int"]), *map(A.format, ["uint", "uint264", "uint12", "int08", "bytes0", "bytes33", "string", "Address"]), A.format("bool") + "nullable = true\n", A.format("bytes") * 2, A.format("bytes") + "null = true\n", A.format("bytes").replace('"a"', '""'),
      A.format("bytes").replace('"a"', '"\\u0007"'), A.format("bytes").replace('"a"', "7"), "column = 5", "column = []", "raw = false"]),
]


def records(file):
    """The start and the end of each record's content, by kind."""
    out, at = {}, 6
    while at < len(file):
        kind, _, length = struct.unpack_from("<BBI", file, at)
        out[kind] = (at + 6, at + 6 + length)
        at += 6 + length
    return out


def edited(file, kind, edit):
    """The file with an edited record, whose length is updated."""
    start, end = records(file)[kind]
    content = edit(bytearray(file[start:end]))
    return file[: start - 4] + struct.pack("<I", len(content)) + bytes(content) + file[end:]


def put(at, piece):
    def edit(content):
        at_ = at % len(content)
        content[at_ : at_ + len(piece)] = piece
        return content

    return edit


def cases(name, about, proof, key, rows, other_key):
    """Cases: name, expected code, and the changed arguments of an honest call (proof, commitment, key, rows, schema, options)."""
    commitment, body = about["commitment"], records(proof)[4][0]
    height = int(commitment.split(":")[1])
    lines = rows.decode().splitlines()
    changed = "\n".join([lines[0], lines[1], re.sub(r",(\d+)$", lambda m: f",{int(m[1]) ^ 1}", lines[2]), *lines[3:]])
    text = lambda body: "\n".join([lines[0], *body]).encode()  # noqa: E731
    yield "no rows", "accepted", {}
    yield "all rows", "accepted", {"rows": rows}
    yield "rows in another order", "accepted", {"rows": text(lines[:0:-1])}
    yield "changed row", "wrong-rows", {"rows": changed.encode()}
    yield "row left out", "wrong-rows", {"rows": text(lines[2:])}
    yield "no row at all", "wrong-rows", {"rows": text([])}
    yield "row beyond the tree", "wrong-rows", {"rows": text([*lines[1:], f"{1 << height},1,2,3,4"])}
    yield "duplicate position", "bad-rows", {"rows": text([*lines[1:], lines[1]])}
    yield "missing column", "bad-rows", {"rows": re.sub(rb",\d+(?=\n)", b"", rows.replace(b",e3", b""))}
    yield "rows of another schema", "bad-rows", {"rows": rows, "schema": b'[[column]]\nname = "cost"\ntype = "unsigned"\n'}
    yield "schema that is not TOML", "bad-rows", {"rows": rows, "schema": b"[[column]\n"}
    for schema, given, expected in ROWS if name == "grove-128" else []:
        case = {"rows": given.encode()} | ({"schema": schema.encode()} if schema else {})
        yield f"rows {given[:28]!r}", expected, case
    yield "rows and a truncated proof", "bad-rows", {"rows": b"index\nx\n", "proof": proof[:100]}
    for length in [0, 3, 5, 6, 9, 40, body - 6, body, body + 80, len(proof) // 2, len(proof) - 8, len(proof) - 1]:
        yield f"proof cut after {length} bytes", "truncated", {"proof": proof[:length]}
    yield "byte after the end", "trailing", {"proof": proof + b"\0"}
    yield "record of 4 GiB", "truncated", {"proof": b"EVGP\x02\0\x01\x01\xff\xff\xff\xff"}
    yield "body of 4 GiB", "truncated", {"proof": proof[: body - 4] + b"\xff\xff\xff\xff" + proof[body:]}
    yield "record after the end", "record", {"proof": proof + struct.pack("<BBI", 5, 1, 0)}
    yield "record of 4 GiB after the end", "record", {"proof": proof + struct.pack("<BBI", 5, 1, 0xFFFFFFFF)}
    yield "other magic", "magic", {"proof": b"EVGX" + proof[4:]}
    yield "a csv file as proof", "magic", {"proof": rows}
    yield "format version 3", "version", {"proof": proof[:4] + b"\3\0" + proof[6:]}
    yield "format version 65535", "version", {"proof": proof[:4] + b"\xff\xff" + proof[6:]}
    yield "record of version 2", "record", {"proof": proof[:7] + b"\2" + proof[8:]}
    yield "unknown record first", "record", {"proof": proof[:6] + b"\x09" + proof[7:]}
    yield "record twice", "record", {"proof": proof[:6] + 2 * proof[6 : records(proof)[1][1]] + proof[records(proof)[1][1] :]}
    yield "foreign profile", "profile", {"proof": edited(proof, 1, put(-3, b"\0"))}
    yield "unknown profile", "malformed", {"proof": edited(proof, 1, put(-3, b"\x09"))}
    yield "unknown height class", "malformed", {"proof": edited(proof, 1, put(-2, b"\x1c"))}
    yield "other height class", "height", {"proof": edited(proof, 1, put(-2, b"\x28"))}
    yield "unknown kind", "malformed", {"proof": edited(proof, 1, put(-1, b"\3"))}
    yield "kind wrap", "malformed", {"proof": edited(proof, 1, put(-1, b"\2"))}
    yield "backend version 2", "unsupported-backend", {"proof": edited(proof, 1, put(-7, b"\2"))}
    yield "unknown backend", "unsupported-backend", {"proof": proof.replace(b"\x05grove", b"\x05grovf", 1)}
    yield "unknown scheme", "scheme", {"proof": proof.replace(b"\x0aevergrove1", b"\x0aevergrove2", 1)}
    yield "scheme of the paper", "scheme", {"proof": edited(proof, 1, lambda c: b"\x0creckle-paper" + c[11:])}
    yield "name of capitals", "malformed", {"proof": proof.replace(b"\x0aevergrove1", b"\x0aEvergrove1", 1)}
    yield "base that is no multiple", "malformed", {"proof": edited(proof, 2, put(1, b"\1"))}
    yield "other base", "height", {"proof": edited(proof, 2, put(1, struct.pack("<Q", 1 << height)))}
    yield "root in the proof changed", "wrong-root", {"proof": edited(proof, 2, put(9, b"\1\2\3"))}
    yield "root in the proof not below p", "non-canonical", {"proof": edited(proof, 2, put(9, b"\xff" * 8))}
    yield "no canonical digest", "wrong-rows", {"proof": edited(proof, 2, put(41, bytes(32)))}
    yield "other canonical digest", "refused", {"proof": edited(proof, 2, put(41, b"\1\2\3"))}
    yield "element not below p", "non-canonical", {"proof": edited(proof, 4, put(800, b"\xff" * 8))}
    yield "last element not below p", "non-canonical", {"proof": edited(proof, 4, put(-8, b"\xff" * 8))}
    yield "last element changed", "refused", {"proof": edited(proof, 4, put(-8, struct.pack("<Q", 7)))}
    yield "element changed", "refused", {"proof": edited(proof, 4, put(800, struct.pack("<Q", 7)))}
    yield "body of half an element", "truncated", {"proof": edited(proof, 4, lambda c: c[:-3])}
    yield "body without its last element", "truncated", {"proof": edited(proof, 4, lambda c: c[:-8])}
    yield "body of ten elements", "truncated", {"proof": edited(proof, 4, lambda c: c[:80])}
    yield "body with another element", "trailing", {"proof": edited(proof, 4, lambda c: c + bytes(8))}
    yield "body above the limit", "malformed", {"proof": edited(proof, 4, lambda c: c + bytes((1 << 20) + 8 - len(c)))}
    yield "file above the limit", "malformed", {"proof": bytes(3 << 20)}
    yield "wrong root", "wrong-root", {"commitment": commitment[:-64] + "1" + "0" * 63}
    yield "wrong height", "height", {"commitment": commitment.replace(f":{height}:", f":{height + 1}:")}
    for wrong in ["", "evergrove1", f"evergrove2:{height}:" + "0" * 64, "evergrove1:41:" + "0" * 64, f"evergrove1:{height}:" + "f" * 64]:
        yield f"commitment {wrong[:20]!r}", "usage", {"commitment": wrong}
    yield "missing key", "key-missing", {"key": None}
    yield "missing key and a truncated proof", "truncated", {"key": None, "proof": proof[:100]}
    yield "missing key and a wrong element", "key-missing", {"key": None, "proof": edited(proof, 4, put(800, bytes(8)))}
    for length in [1, 7, 23, 24, 300, len(key) // 2, len(key) - 8, len(key) - 1]:
        yield f"key cut after {length} bytes", "wrong-key", {"key": key[:length]}
    yield "key with another byte", "wrong-key", {"key": key + b"\0"}
    yield "key with another element", "wrong-key", {"key": key + bytes(8)}
    yield "key of another digest", "wrong-key", {"key": key[:-8] + struct.pack("<Q", 5)}
    yield "key with a parameter changed", "wrong-key", {"key": key[:40] + b"\1" + key[41:]}
    yield "key with an element not below p", "wrong-key", {"key": key[:-8] + b"\xff" * 8}
    yield "key of the other profile", "wrong-key", {"key": other_key}
    yield "a proof file as key", "wrong-key", {"key": proof}
    yield "wrong key and a wrong element", "wrong-key", {"key": key[:-8] + bytes(8), "proof": edited(proof, 4, put(800, bytes(8)))}
    yield "wrong key and half an element", "truncated", {"key": key[:-8] + bytes(8), "proof": edited(proof, 4, lambda c: c[:-3])}
    if PROFILES[name]:
        yield "profile that is not allowed", "profile", {"options": []}
    yield "profile of no name", "usage", {"options": ["--allow-profile", "grove-99"]}


def command(words):
    out = subprocess.run(words, capture_output=True)
    return out.returncode, out.stdout.decode(), out.stderr.decode(errors="replace")


def judge_case(command_line, second, name, commitment, honest, what, expected, case):
    """Runs one case. Returns its errors, and a line about the verdicts."""
    wrong = []
    case = honest | {"commitment": commitment, "options": PROFILES[name]} | case
    with tempfile.TemporaryDirectory() as folder:
        paths = {part: str(Path(folder) / part) for part in ("proof", "key", "rows", "schema")}
        for part, path in paths.items():
            if case.get(part) is not None:
                Path(path).write_bytes(case[part])
        given = [paths[part] for part in ("rows", "schema") if part in case]
        status, out, err = command([*command_line, *case["options"], paths["proof"], case["commitment"], paths["key"], *given])
        lines = out.splitlines()
        if len(lines) != 2 or not lines[0].split()[0].isdigit():
            return [f"exit code {status} without a verdict: {(out + err)[-2000:]}"], ""
        (number, sentence), verdict = lines[0].split(" ", 1), json.loads(lines[1])
        code = CODES[int(number)]
        if code != expected or status != EXIT.get(code, 1) or err:
            wrong.append(f"{code} and exit code {status}, expected {expected}: {sentence} {err[-2000:]}")
        if (verdict["code"], verdict["sentence"], verdict["accepted"]) != (code, sentence, code == "accepted"):
            wrong.append(f"the JSON object says something else: {verdict}")
        if not second or case["options"] != PROFILES[name]:
            return wrong, f"{code:20} {sentence}"
        words = [sys.executable, str(ROOT / "vectors/verifier.py"), "verify", paths["proof"], "--commitment", case["commitment"]]
        words += ["--key", paths["key"], "--format", "json"]
        words += [word for part in ("rows", "schema") if part in case for word in (f"--{part}", paths[part])]
        status, out, err = command(words)
    try:
        answer = json.loads(out)
    except json.JSONDecodeError:
        return [*wrong, f"the second verifier gives no verdict: {err[-500:]}"], ""
    if answer["code"] != code or status != EXIT.get(code, 1):
        wrong.append(f"{code}, but {answer['code']} by the second verifier: {sentence} / {answer.get('sentence')}")
    for part in ("shown", "not_shown", "kind", "profile", "schema_digest"):
        if code == "accepted" and verdict.get(part) != answer.get(part):
            wrong.append(f"{part} differs: {verdict.get(part)} / {answer.get(part)}")
    return wrong, f"{code:20} {sentence}\n{'':66} {answer.get('sentence', 'accepted')}"


def judge(command_line, second, table, step, name, files, pool):
    """Runs all cases of a profile. Returns the number of cases and the errors."""
    read = lambda of, end: (files / f"{of}.{end}").read_bytes()  # noqa: E731
    about = json.loads(read(name, "json"))
    other = read(next(p for p in PROFILES if p != name), "key")
    honest = {"proof": read(name, "proof"), "key": read(name, "key")}
    every = list(cases(name, about, honest["proof"], honest["key"], read(name, "csv"), other))[::step]
    run = lambda case: judge_case(command_line, second, name, about["commitment"], honest, *case)  # noqa: E731
    problems = []
    for (what, *_), (wrong, line) in zip(every, pool.map(run, every)):
        problems += [f"{name}, {what}: {text}" for text in wrong]
        if table:
            print(f"{name:10} {what:34} {line}")
    return len(every), problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("verify", nargs=argparse.REMAINDER)
    a = parser.parse_args()
    count, wrong = 0, []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in PROFILES:
            n, problems = judge(a.verify, a.second, a.table, a.every, name, a.folder, pool)
            count, wrong = count + n, wrong + problems
    for line in wrong:
        print(f"wrong: {line}")
    print(f"{count} cases, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
