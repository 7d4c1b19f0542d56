// The proofs of the tests. For each NAME, a directory has NAME.json, an object with `commitment`, `key` (a file), `key_digest`,
// `rows` (a file) and `mutants`; NAME.proof; and NAME.tar, a bundle. The test `python` of crates/grove writes it.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const target = process.env.CARGO_TARGET_DIR ?? new URL("../../target", import.meta.url).pathname;

/** The folder of the build. */
export const WEB = join(target, "web");
const PROOFS = process.env.EVERGROVE_WEB_PROOFS ?? join(target, "tmp/verifier");

/** A verifier's inputs for the proof `name`, and the paths of its files. */
export function load(name) {
    const path = (file) => join(PROOFS, file);
    const about = JSON.parse(readFileSync(path(`${name}.json`), "utf8"));
    const files = { proof: path(`${name}.proof`), rows: path(about.rows), key: path(about.key), bundle: path(`${name}.tar`) };
    return {
        profile: name,
        commitment: about.commitment,
        keyDigest: about.key_digest,
        mutants: about.mutants,
        files,
        proof: new Uint8Array(readFileSync(files.proof)),
        csv: readFileSync(files.rows, "utf8"),
        key: new Uint8Array(readFileSync(files.key)),
    };
}

/** The frozen proofs and openings: each has a length, a commitment, and Rust's code for its first bytes of that length. */
export function frozen() {
    const folder = new URL("../../vectors/frozen/", import.meta.url).pathname;
    return JSON.parse(readFileSync(join(PROOFS, "frozen"), "utf8")).map((about) => ({
        ...about,
        bytes: new Uint8Array(readFileSync(join(folder, about.file))).subarray(0, about.length),
    }));
}

/** Bundles that other programs wrote, and damaged ones: each has its bytes and Rust's sentence for it. */
export function bundles() {
    const read = (name) => readFileSync(new URL(`../../vectors/bundle/${name}`, import.meta.url));
    const { files, mutants } = JSON.parse(read("mutants.json"));
    const python = new Uint8Array(read("python.tar"));
    return { files, good: [python, new Uint8Array(read("gnu.tar"))], mutants: mutants.map((mutant) => ({ ...mutant, bytes: edited(python, mutant.edits) })) };
}

/** A file with the edits of a mutant, in order. Each replaces `removed` bytes, starting with byte `at`. */
export function edited(file, edits) {
    return edits.reduce((file, [at, removed, by]) => new Uint8Array(Buffer.concat([file.subarray(0, at), Buffer.from(by, "hex"), file.subarray(at + removed)])), file);
}

/** The rows with one changed value. */
export function changed(csv) {
    const lines = csv.split("\n");
    lines[2] = lines[2].replace(/,[0-9]+,/, ",999999,");
    return lines.join("\n");
}
