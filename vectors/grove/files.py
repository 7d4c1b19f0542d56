"""Proof files and openings: what they claim, and the verdict (docs/formats.md, docs/security.md)."""
import re, struct

from reference import P
from grove.argument import verify_body
from grove.field import NULL, canonical, digest_text, f, leaf, node, tag
from grove.key import Key, PINNED, SCHEDULES
from grove.refusal import Bytes, Refusal


class Fields(Bytes):
    """A file of version 1: the fields of all records in their order, the body with its length."""

    def end(self):
        pass

    def rest(self):
        n = self.number(4)
        body = self.take(n)
        super().end()
        return body


def records(data, magic, what, last):
    """Kind and content of the records of a file of version 2, up to the kind `last`; of version 1, one reader for all."""
    r = Bytes(data, what)
    found = r.take(4)
    if found != magic:
        raise Refusal("magic", f"{what} starts with {found!r} (expected {magic!r})")
    version = r.number(2)
    if version == 1:
        flat = Fields(data, what)
        flat.at = r.at
        return dict.fromkeys(range(1, 5), flat)
    if version != 2:
        raise Refusal("version", f"{what} has format version {version} (expected 1 or 2)")
    out = {}
    while r.at < len(r.data):
        if last in out and len(r.data) - r.at < 6:
            r.end()
        kind, version = r.number(1), r.number(1)
        if last in out:
            raise Refusal("record", f"{what}: unknown record {kind} of version {version} after the last one")
        if version != 1:
            raise Refusal("record", f"{what}: record {kind} has version {version} (expected 1)")
        if out and kind <= max(out):
            raise Refusal("record", f"{what}: record {kind} is duplicate or out of order")
        out[kind] = Bytes(r.take(r.number(4)), f"{what}, record {kind}")
    return out


def demand_records(found, expected, what):
    if isinstance(found.get(1), Fields):
        return
    if len(found) < len(expected) and sorted(found) == expected[: len(found)]:
        raise Refusal("truncated", f"{what} ends after the records {sorted(found)} (expected {expected})")
    if sorted(found) != expected:
        raise Refusal("record", f"{what} has records {sorted(found)} (expected {sorted(expected)})")


def commitment(text):
    """Height and root of `evergrove1:H:ROOT`."""
    m = re.fullmatch(r"evergrove1:([1-9][0-9]?):([0-9a-f]{64})", text, re.ASCII)
    if not m or int(m[1]) > 40:
        raise Refusal("usage", f"invalid commitment {text!r} (expected evergrove1:HEIGHT:ROOT)")
    root = list(struct.unpack("<4Q", bytes.fromhex(m[2])))
    if max(root) >= P:
        raise Refusal("usage", "the commitment's root has an element that is not below p")
    return int(m[1]), root


MAX_BODY = 1 << 20
MAX_FILE = MAX_BODY + (1 << 20)
PROFILES = ["proven", "johnson", "paper", "grove-100", "grove-128"]
BACKENDS = {"plonky2": (0, 1, 2), "grove": (3, 4), "native": (0, 1, 2, 3, 4)}
WITH_APPLICATION = ("evergrove1-selected", "evergrove1-complete", "evergrove1-tree")
SCHEMES = ("evergrove1", "reckle-paper", *WITH_APPLICATION)
KINDS = ["bucket", "merge", "wrap"]


def decode_proof(data):
    """The claims of a proof file, and its body as bytes."""
    found = records(data, b"EVGP", "proof", 4)
    if 1 not in found:
        raise Refusal("truncated" if not found else "record", "proof without record 1")
    p, r = {}, found[1]
    p["scheme"], p["backend"], p["backend version"] = r.name(), r.name(), r.number(4)
    profile, p["class"], kind = r.number(1), r.number(1), r.number(1)
    r.end()
    if p["scheme"] not in SCHEMES:
        raise Refusal("scheme", f"unknown scheme {p['scheme']}")
    if p["backend"] not in BACKENDS:
        raise Refusal("unsupported-backend", f"unknown backend {p['backend']}")
    if profile >= len(PROFILES):
        raise Refusal("malformed", f"unknown profile {profile} (expected 0 to {len(PROFILES) - 1})")
    if profile not in BACKENDS[p["backend"]]:
        raise Refusal("profile", f"profile {profile} is not a profile of the backend {p['backend']}")
    if p["class"] not in (27, 40) or kind > 2:
        raise Refusal("malformed", f"height class {p['class']} (expected 27 or 40), kind {kind} (expected 0 to 2)")
    p["profile"], p["kind"] = PROFILES[profile], KINDS[kind]
    with_application = p["scheme"] in WITH_APPLICATION
    demand_records(found, [1, 2, 3, 4] if with_application else [1, 2, 4], "proof")
    r = found[2]
    p["height"], p["base"], p["root"], p["canonical"] = r.number(1), r.number(8), r.elements(4), r.elements(4)
    r.end()
    if p["height"] > p["class"] or p["base"] % 2 ** p["height"] or p["base"] >= 2 ** p["class"]:
        raise Refusal("malformed", f"no node of height {p['height']} starts at {p['base']} in height class {p['class']}")
    if with_application:
        r = found[3]
        p["application"], p["parameters"] = r.name(), r.elements(4)
        rest = 8 * r.number(2) if isinstance(r, Fields) else len(r.data) - r.at
        if rest % 8 or not 8 <= rest <= 8 * 65535:
            raise Refusal("malformed", f"an output of {rest} bytes")
        p["output"] = r.elements(rest // 8)
        r.end()
        if p["scheme"] != "evergrove1-selected" and any(p["canonical"]):
            raise Refusal("malformed", "a canonical digest in a proof about all rows")
    p["body"] = found[4].rest()
    return p


def decode_opening(data):
    found = records(data, b"EVGO", "opening", 2)
    if 1 not in found:
        raise Refusal("truncated" if not found else "record", "opening without record 1")
    demand_records(found, [1, 2], "opening")
    r = found[1]
    height, index, filled = r.number(1), r.number(8), r.number(1)
    if not 1 <= height <= 40 or index >> height or filled > 1:
        raise Refusal("malformed", f"opening of slot {index} at height {height}, tag {filled}")
    value = r.elements(4) if filled else None
    r.end()
    path = [found[2].elements(4) for _ in range(height)]
    Bytes.end(found[2])
    return {"height": height, "index": index, "value": value, "path": path}


def verify_opening(data, text):
    """h_0 is the leaf's digest or null_0, h_(l+1) the node of h_l and sibling l, bit l of the index says which is right."""
    height, root = commitment(text)
    o = decode_opening(data)
    if o["height"] != height:
        raise Refusal("height", f"opening of height {o['height']}, commitment of height {height}")
    h = leaf(o["index"], o["value"]) if o["value"] else NULL[0]
    for l, sibling in enumerate(o["path"]):
        h = node(sibling, h) if o["index"] >> l & 1 else node(h, sibling)
    if h != root:
        raise Refusal("wrong-root", f"the path leads to {digest_text(h)}, not to the commitment's root")
    what = f"holds the value {digest_text(o['value'])}" if o["value"] else "is empty"
    return {"kind": "opening", "index": o["index"], "filled": o["value"] is not None, "shown": [f"slot {o['index']} {what}"], "not_shown": []}


def inputs_digest(inputs):
    """Two inputs to a block, each the first element of a word."""
    h = [tag("inpu"), 0, 0, 0]
    for i in range(0, len(inputs), 2):
        a, b = (inputs[i : i + 2] + [0])[:2]
        h = f([a, 0, 0, 0, b, 0, 0, 0], h)
    return h


def verify_batch(data, text, key_bytes=None, key_digest=None, leaves=None, key=None, application=None):
    """The verdict on a proof file. What the verifier trusts is the commitment, the key's digest, the leaves, and of an
    application its name, parameters and inputs."""
    p = decode_proof(data)
    if p["backend"] != "grove":
        raise Refusal("unsupported-backend", f"proofs of the backend {p['backend']} are not verified here")
    if p["scheme"] not in ("evergrove1", "evergrove1-selected", "evergrove1-complete"):
        raise Refusal("scheme", f"proofs of the scheme {p['scheme']} are not verified here")
    stated = (p.get("application"), p.get("parameters"))
    if stated != (application[:2] if application else (None, None)):
        raise Refusal("application", f"the proof is about the application {stated[0]}, but another application or other parameters were asked for")
    if p["backend version"] != 1:
        raise Refusal("unsupported-backend", f"proofs of version {p['backend version']} of the backend grove are not verified here (expected 1)")
    if p["kind"] == "wrap":
        raise Refusal("malformed", "the backend grove has no proofs of kind wrap")
    # Policy (docs/security.md): the commitment's height and root, base 0, the class of the height, d not 0 or, over all rows, 0
    # and the commitment grown by empty slots.
    height, root = commitment(text)
    expected, complete = 27 if height <= 27 else 40, p["scheme"] == "evergrove1-complete"
    while complete and height < p["height"]:
        height, root = height + 1, node(root, NULL[height])
    if (p["height"], p["base"], p["class"]) != (height, 0, expected):
        raise Refusal("height", f"height {p['height']}, base {p['base']}, class {p['class']} (expected {height}, 0, {expected})")
    if p["root"] != root:
        raise Refusal("wrong-root", f"the proof is about root {digest_text(p['root'])} (expected the commitment's)")
    if not any(p["canonical"]) and not complete:
        raise Refusal("wrong-rows", "the canonical digest is that of no rows")
    if leaves is not None:
        if complete:
            raise Refusal("usage", "a proof about all rows takes no rows")
        if leaves and leaves[-1][0] >> height:
            raise Refusal("wrong-rows", f"position {leaves[-1][0]} is beyond a tree of height {height}")
        if not leaves or canonical(leaves) != p["canonical"]:
            raise Refusal("wrong-rows", "the canonical digest of the rows is not the proof's")
    if len(p["body"]) > MAX_BODY:
        raise Refusal("malformed", f"a body of {len(p['body'])} bytes (expected 2^20 at most)")
    if len(p["body"]) % 8:
        raise Refusal("truncated", f"a body of {len(p['body'])} bytes is not one of whole elements")
    body = Bytes(p["body"], "body")
    elements = body.elements(len(p["body"]) // 8)
    if key is None:
        if key_bytes is None:
            raise Refusal("key-missing", "missing key file: pass one with --key, a verdict needs the fixed columns in it")
        if key_digest is None and application:
            raise Refusal("usage", "the key of an application is not pinned: --key-digest is needed")
        key = Key(key_bytes, key_digest or PINNED[p["profile"], p["class"]])
    if (key.K, key.rounds) != SCHEDULES[p["profile"]]:
        raise Refusal("wrong-key", f"the key does not have the schedule of the profile {p['profile']}")
    information = [p["root"], p["canonical"], [p["height"], 0, 0, 0], [p["base"], 0, 0, 0]]
    if application:
        information += [inputs_digest(application[2]), *([x, 0, 0, 0] for x in p["output"])]
    verify_body(key, int(p["kind"] == "merge"), information, elements)
    out = {"kind": p["kind"], "profile": p["profile"], "key": digest_text(key.digest), "canonical_digest": digest_text(p["canonical"])}
    if complete:
        shown, not_shown = ["the proof is about all rows of the table"], []
    elif leaves is None:
        shown = ["the canonical digest in the file is the root of some hash tree over a non-empty set of leaves of the table"]
        not_shown = ["which rows", "how many rows", "that the digest is canonical for them", "anything about other rows"]
    else:
        shown = [f"the {len(leaves)} rows are at their positions in the table of the commitment, and the proof is about them alone"]
        not_shown = ["anything about other rows"]
    if application:
        out["output"] = [str(x) for x in p["output"]]
        shown.append(f"the circuits of the key give the output {p['output']} over these rows")
        not_shown.append("that the key is that of the application: its digest was given")
    return out | {"shown": shown, "not_shown": not_shown + ["that the commitment is the right one"]}


def verify(data, text, **given):
    if len(data) > MAX_FILE:
        raise Refusal("malformed", f"{len(data)} bytes are given for a proof (expected {MAX_FILE} at most)")
    if data[:4] == b"EVGO":
        if given.get("leaves") is not None or given.get("application"):
            raise Refusal("usage", "an opening takes neither rows nor an application")
        return verify_opening(data, text)
    return verify_batch(data, text, **given)
