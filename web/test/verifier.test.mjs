// Tests the package in Node.js with real proofs.
import assert from "node:assert/strict";
import { openAsBlob, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { bundles, changed, edited, frozen, load, WEB } from "./proofs.mjs";

const { isBundle, outcome, readBundle, REFUSALS, verify } = await import(join(WEB, "verifier/node.js"));
const given = load("grove-100");
const other = load("grove-128");
const { proof, commitment, key } = given;
const rows = { csv: given.csv };

/** Verifies, and fails if the verdict has another code. Returns the verdict. */
async function expectCode(code, ...args) {
    const verdict = await verify(...args);
    assert.equal(verdict.code, code, verdict.sentence);
    assert.equal(verdict.accepted, code === "accepted");
    assert.notEqual(verdict.sentence, "");
    return verdict;
}

async function* inPieces(bytes, length) {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

describe("acceptance", () => {
    it("says what is shown with rows, and all fields", async () => {
        const verdict = await expectCode("accepted", proof, commitment, { rows, key });
        const [, height, root] = commitment.split(":");
        assert.equal(verdict.profile, "grove-100");
        assert.equal(verdict.backend, "grove");
        assert.equal(verdict.height, Number(height));
        assert.equal(verdict.root, root);
        assert.match(verdict.canonical, /^[0-9a-f]{64}$/);
        assert.equal(verdict.rows, given.csv.trim().split("\n").length - 1);
        assert.equal(verdict.keyDigest, given.keyDigest);
        assert.ok(verdict.bits.uniqueDecoding >= 100);
        for (const bits of Object.values(verdict.bits)) assert.ok(bits > 64 && bits < 256);
        assert.match(verdict.schemaDigest, /^[0-9a-f]{64}$/);
        assert.deepEqual([verdict.application, verdict.output, verdict.index, verdict.value], [null, null, null, null]);
        assert.ok(verdict.shown.length > 0 && verdict.notShown.length > 0);
        assert.equal(outcome(verdict), "accepted");
    });

    it("takes rows as JSON Lines", async () => {
        const [names, ...lines] = given.csv.trim().split("\n").map((line) => line.split(","));
        const jsonl = lines.map((cells) => `{${cells.map((cell, i) => `"${names[i]}":${cell}`).join(",")}}\n`).join("");
        const verdict = await expectCode("accepted", proof, commitment, { rows: { jsonl }, key });
        assert.equal(verdict.rows, lines.length);
    });

    it("takes a schema", async () => {
        const verdict = await expectCode("bad-rows", proof, commitment, { rows, schema: '[[column]]\nname = "price"\ntype = "unsigned"\n', key });
        assert.match(verdict.sentence, /price|e0/);
    });

    it("shows less without rows", async () => {
        const verdict = await expectCode("accepted", proof, commitment, { key });
        assert.equal(verdict.rows, null);
    });

    const streams = {
        "an ArrayBuffer": () => key.slice().buffer,
        "a Blob": () => new Blob([key]),
        "a ReadableStream": () => new Blob([key]).stream(),
        "an iterable of pieces of 1000 bytes": () => inPieces(key, 1000),
        "an iterable of pieces of 1 MB": () => inPieces(key, 1e6),
        "a view into a longer buffer": () => {
            const longer = new Uint8Array(key.length + 16);
            longer.set(key, 8);
            return longer.subarray(8, 8 + key.length);
        },
    };
    for (const [what, make] of Object.entries(streams)) {
        it(`takes the key as ${what}`, () => expectCode("accepted", proof, commitment, { rows, key: make() }));
    }

    it("runs verifications at the same time", async () => {
        const verdicts = await Promise.all([rows, { csv: changed(given.csv) }, rows].map((rows) => verify(proof, commitment, { rows, key })));
        assert.deepEqual(
            verdicts.map((v) => v.code),
            ["accepted", "wrong-rows", "accepted"],
        );
    });

    it("takes the digest of the key, as text and as bytes", async () => {
        for (const keyDigest of [given.keyDigest, new Uint8Array(Buffer.from(given.keyDigest, "hex"))]) {
            await expectCode("accepted", proof, commitment, { rows, key, keyDigest });
        }
    });

    it("takes another profile by its name alone", async () => {
        const with128 = { rows: { csv: other.csv }, key: other.key };
        await expectCode("profile", other.proof, other.commitment, with128);
        await expectCode("accepted", other.proof, other.commitment, { ...with128, profiles: ["grove-128"] });
    });

    it("takes a compiled module", async () => {
        const module = await WebAssembly.compile(readFileSync(join(WEB, "verifier/evergrove_verifier.wasm")));
        await expectCode("accepted", proof, commitment, { rows, key, module });
    });
});

describe("refusal", () => {
    it("has a sentence and no claim", async () => {
        const verdict = await expectCode("wrong-rows", proof, commitment, { rows: { csv: changed(given.csv) }, key });
        assert.deepEqual([verdict.shown, verdict.notShown], [[], []]);
        assert.equal(outcome(verdict), "refused");
    });

    it("of another commitment", () => expectCode("wrong-root", proof, commitment.replace(/.$/, (x) => (x === "0" ? "1" : "0")), { rows, key }));
    it("of another file", () => expectCode("magic", new TextEncoder().encode(given.csv), commitment, { rows, key }));
    it("of a part of the proof", () => expectCode("truncated", proof.subarray(0, 1000), commitment, { rows, key }));
    it("of too many bytes", () => expectCode("malformed", key, commitment, { rows, key }));
    it("of no bytes", () => expectCode("truncated", new Uint8Array(), commitment, { rows, key }));
    it("of a part of the key", () => expectCode("wrong-key", proof, commitment, { rows, key: key.subarray(0, key.length - 8) }));
    it("of another key, which leaves the proof open", async () => {
        assert.equal(outcome(await expectCode("wrong-key", proof, commitment, { rows, key: other.key })), "none");
    });
    it("of another digest of the key", () => expectCode("wrong-key", proof, commitment, { rows, key, keyDigest: "00".repeat(32) }));
    it("of an application that the proof is not about", () =>
        expectCode("application", proof, commitment, {
            rows,
            key,
            keyDigest: given.keyDigest,
            application: { name: "sum", digest: "01".repeat(32), inputs: [7, 2n ** 53n], outputLength: 1 },
        }));

    it("does not read a key that is not needed", async () => {
        async function* never() {
            assert.fail("the key was read");
        }
        await expectCode("magic", key.subarray(0, 1000), commitment, { key: never() });
    });

    it("does not read on after a verdict", async () => {
        let read = 0;
        async function* longer() {
            yield key;
            for (; read < 1000; read += 1) yield new Uint8Array(1 << 16);
        }
        await expectCode("wrong-key", proof, commitment, { key: longer() });
        assert.ok(read < 1000);
    });
});

describe("mutants have the codes that Rust gives them", () => {
    for (const { proof, commitment, key, mutants, profile } of [given, other]) {
        it(`${mutants.length} of a proof of ${profile}`, async () => {
            for (const { edits, code } of mutants) {
                const verdict = await verify(edited(proof, edits), commitment, { key, profiles: ["grove-100", "grove-128"] });
                assert.equal(verdict.code, code, JSON.stringify(edits));
            }
        });
    }
});

describe("frozen files have the codes that Rust gives them", () => {
    for (const { file, length, bytes, commitment, code } of frozen()) {
        it(`${length} bytes of ${file}`, () => expectCode(code, bytes, commitment));
    }
});

describe("a bundle", () => {
    const { files, good, mutants } = bundles();

    it("is an argument of verify, as it is", async () => {
        const bundle = await readBundle(await openAsBlob(given.files.bundle));
        const verdict = await expectCode("accepted", bundle.proof, commitment, bundle);
        assert.equal(verdict.rows, given.csv.trim().split("\n").length - 1);
        assert.deepEqual(new Uint8Array(await bundle.proof.arrayBuffer()), proof);
        await expectCode("wrong-root", bundle.proof, other.commitment.replace(/:[0-9]+:/, `:${commitment.split(":")[1]}:`), bundle);
    });

    it("of other programs has their files", async () => {
        for (const bytes of good) {
            const { proof, rows, schema, key } = await readBundle(new Blob([bytes]));
            assert.equal(await isBundle(new Blob([bytes])), true);
            for (const file of [proof, rows.csv, schema, key]) assert.equal(Buffer.from(await file.arrayBuffer()).toString("hex"), files[file.name], file.name);
        }
        assert.equal(await isBundle(new Blob([proof])), false);
        assert.equal(await isBundle(new Blob([])), false);
    });

    it("that is damaged has the sentence of Rust", async () => {
        for (const { what, bytes, error } of mutants) {
            const found = await readBundle(new Blob([bytes])).then(() => null, (e) => e.message);
            assert.equal(found, error, what);
        }
    });
});

describe("no verdict", () => {
    it("without a key", async () => {
        const verdict = await expectCode("key-missing", proof, commitment, { rows });
        assert.equal(outcome(verdict), "none");
        assert.equal(outcome(await expectCode("key-missing", proof, commitment)), "none");
    });

    it("of rows without a column of positions", async () => {
        const verdict = await expectCode("bad-rows", proof, commitment, { rows: { csv: "a,b\n1,2\n" }, key });
        assert.equal(outcome(verdict), "error");
    });

    it("of a text that is no commitment", async () => {
        const verdict = await expectCode("usage", proof, "evergrove1:10:ab", { rows, key });
        assert.equal(outcome(verdict), "error");
    });
});

describe("the types", () => {
    it("have every code once", () => assert.equal(new Set(REFUSALS).size, REFUSALS.length));

    const wrong = {
        "a digest with other characters": { keyDigest: "x".repeat(64) },
        "a digest of 31 bytes": { keyDigest: new Uint8Array(31) },
        "an input that is no exact number": { application: { name: "sum", digest: "00".repeat(32), inputs: [2 ** 53], outputLength: 1 } },
        "an input beyond the field": { application: { name: "sum", digest: "00".repeat(32), inputs: [2n ** 64n], outputLength: 1 } },
        "a negative length": { application: { name: "sum", digest: "00".repeat(32), outputLength: -1 } },
    };
    for (const [what, options] of Object.entries(wrong)) {
        it(`demand more than ${what}`, () => assert.rejects(verify(proof, commitment, options), RangeError));
    }

    it("pass on the failure of a stream", async () => {
        async function* broken() {
            yield key.subarray(0, 1000);
            throw new TypeError("the disk is gone");
        }
        await assert.rejects(verify(proof, commitment, { key: broken() }), /the disk is gone/);
    });
});
