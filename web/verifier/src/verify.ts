// One verification, from bytes to a verdict.

import { pieces, PIECE, type Key } from "./key.js";
import { Instance } from "./module.js";
import { parseVerdict, type Verdict } from "./verdict.js";

/** Bytes, or a file of them. */
export type Bytes = Uint8Array | Blob;

/** UTF-8, or a string. */
export type Text = string | Bytes;

/** 32 bytes, or 64 hexadecimal characters. */
export type DigestBytes = string | Uint8Array;

/** An application whose output is accepted. */
export interface Application {
    readonly name: string;
    /** The digest of its parameters. */
    readonly digest: DigestBytes;
    /** The inputs of its circuits, elements of the Goldilocks field. Left out for digest translation, whose output is words. */
    readonly inputs?: readonly (number | bigint)[];
    /** The number of elements of its output. */
    readonly outputLength: number;
}

export interface Options {
    /** The rows that the proof should be about, with their positions in the column `index`. Without them, no row is shown. */
    readonly rows?: { readonly csv: Text } | { readonly jsonl: Text };
    /** The schema of the rows, in TOML. Rows of values (columns `e0` to `e3`) need none. */
    readonly schema?: Text;
    /** The bytes of the key file. Without them there is no verdict. The file need not be trusted: its digest is compared. */
    readonly key?: Key;
    /** The trusted digest of the key file, in place of the one that is pinned for the profile. An application needs one. */
    readonly keyDigest?: DigestBytes;
    readonly application?: Application;
    /** Profiles that are accepted beside `grove-100`. */
    readonly profiles?: readonly string[];
    /** The compiled module, in place of the one that comes with this package. */
    readonly module?: WebAssembly.Module;
}

export type Verify = (proof: Bytes, commitment: string, options?: Options) => Promise<Verdict>;

/** `verify` with a module that `load` compiles on first use. */
export function verifier(load: () => Promise<WebAssembly.Module>): Verify {
    let loaded: Promise<WebAssembly.Module> | undefined;
    const module = (): Promise<WebAssembly.Module> => {
        loaded ??= load().catch((error: unknown) => {
            loaded = undefined;
            throw error;
        });
        return loaded;
    };
    return async (proof, commitment, options = {}) => run(await Instance.new(options.module ?? (await module())), proof, commitment, options);
}

async function run(instance: Instance, proof: Bytes, commitment: string, options: Options): Promise<Verdict> {
    const { exports } = instance;
    const request = await newRequest(instance, proof, commitment, options);
    if (exports.evg_request_check(request) === 0 && options.key !== undefined) {
        const buffer = instance.alloc(PIECE);
        for await (const piece of pieces(options.key)) {
            instance.view(buffer).set(piece);
            if (exports.evg_request_key(request, buffer.at, piece.length) !== 0) break;
        }
        instance.free(buffer);
    }
    const verdict = exports.evg_request_finish(request);
    const length = instance.alloc(4);
    const at = exports.evg_verdict_json(verdict, length.at) >>> 0;
    const bytes = instance.view(length);
    const json = instance.view({ at, length: new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) });
    const result = parseVerdict(new TextDecoder("utf-8", { fatal: true }).decode(json));
    exports.evg_verdict_free(verdict);
    return result;
}

/** Throws before it gives the module anything that is not as its types say. */
async function newRequest(instance: Instance, proof: Bytes, commitment: string, options: Options): Promise<number> {
    const { exports } = instance;
    const profiles = (options.profiles ?? []).map((name) => utf8(name));
    const keyDigest = options.keyDigest === undefined ? undefined : digest(options.keyDigest, "keyDigest");
    const application = options.application && {
        name: utf8(options.application.name),
        digest: digest(options.application.digest, "application.digest"),
        inputs: options.application.inputs && elements(options.application.inputs),
        outputLength: count(options.application.outputLength, "application.outputLength"),
    };
    const { rows } = options;
    const file = await bytes(proof);
    const text = rows && (await bytes("csv" in rows ? rows.csv : rows.jsonl));
    const schema = options.schema === undefined ? undefined : await bytes(options.schema);
    // The module copies what it is given.
    const given = <T>(bytes: Uint8Array, use: (at: number, length: number) => T): T => {
        const buffer = instance.copy(bytes);
        const result = use(buffer.at, buffer.length);
        instance.free(buffer);
        return result;
    };
    const request = given(file, (p, n) => given(utf8(commitment), (c, m) => exports.evg_request_new(p, n, c, m)));
    if (rows !== undefined && text !== undefined) {
        const format = "csv" in rows ? 0 : 1;
        given(text, (at, n) => {
            if (schema === undefined) exports.evg_request_rows(request, format, at, n, 0, 0);
            // A null pointer means no schema: an empty text becomes a blank one, which is refused.
            else given(schema.length === 0 ? utf8("\n") : schema, (s, m) => exports.evg_request_rows(request, format, at, n, s, m));
        });
    }
    for (const name of profiles) given(name, (at, n) => exports.evg_request_allow_profile(request, at, n));
    if (application !== undefined) {
        const { name, inputs, outputLength } = application;
        given(name, (at, n) =>
            given(application.digest, (d) => {
                if (inputs === undefined) exports.evg_request_words(request, at, n, d, outputLength);
                else given(inputs, (i) => exports.evg_request_application(request, at, n, d, i, inputs.length / 8, outputLength));
            }),
        );
    }
    if (keyDigest !== undefined) given(keyDigest, (at) => exports.evg_request_key_digest(request, at));
    return request;
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

async function bytes(given: Text): Promise<Uint8Array> {
    if (typeof given === "string") return utf8(given);
    return given instanceof Blob ? new Uint8Array(await given.arrayBuffer()) : given;
}

function digest(value: DigestBytes, name: string): Uint8Array {
    if (value instanceof Uint8Array) {
        if (value.length === 32) return value;
        throw new RangeError(`${name} has ${value.length} bytes, expected 32`);
    }
    if (!/^[0-9a-f]{64}$/.test(value)) throw new RangeError(`${name} is not 64 hexadecimal characters in lower case`);
    return Uint8Array.from({ length: 32 }, (_, i) => Number.parseInt(value.slice(2 * i, 2 * i + 2), 16));
}

/** The order of the Goldilocks field. */
const ORDER = 0xffff_ffff_0000_0001n;

function elements(values: readonly (number | bigint)[]): Uint8Array {
    const bytes = new Uint8Array(8 * values.length);
    const view = new DataView(bytes.buffer);
    values.forEach((value, i) => {
        if (typeof value === "number" && !Number.isSafeInteger(value)) throw new RangeError(`input ${i} is not an exact integer: ${value}`);
        const x = BigInt(value);
        if (x < 0n || x >= ORDER) throw new RangeError(`input ${i} is ${x}, expected a number below ${ORDER}`);
        view.setBigUint64(8 * i, x, true);
    });
    return bytes;
}

function count(value: number, name: string): number {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 16) return value;
    throw new RangeError(`${name} is ${value}, expected an integer below 65536`);
}
