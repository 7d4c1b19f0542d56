// A bundle: a proof and what is checked beside it as one file, an archive of tar in the format ustar. docs/formats.md has the
// layout; the sentences of errors are those of `evergrove_verifier::wire::BundleError`.

/**
 * The files of a bundle: parts of its bytes, which are read when they are needed. All of them come from whoever made the bundle.
 * They are options of `verify`, too.
 */
export interface Bundle {
    /** A proof file, or an opening. */
    readonly proof: File;
    /** The rows of the batch with their positions. */
    readonly rows?: { readonly csv: File } | { readonly jsonl: File };
    /** The schema of the rows. Compare `schemaDigest` of the verdict with a digest that you trust, or give another schema. */
    readonly schema?: File;
    /** The key file. */
    readonly key?: File;
    /** The query whose answer the proof shows, which `evergrove query --verify` verifies. */
    readonly query?: File;
    /** The groups of the query. */
    readonly groups?: File;
    /** The Merkle paths of rows that a query lists. */
    readonly paths?: File;
}

/** The most bytes that each file may have. */
const LIMITS = {
    "evergrove.proof": 2 ** 24,
    "rows.csv": 2 ** 28,
    "rows.jsonl": 2 ** 28,
    "schema.toml": 2 ** 24,
    "circuits.key": 2 ** 28,
    "query.sql": 2 ** 20,
    "groups.jsonl": 2 ** 24,
    "rows.paths": 2 ** 28,
} as const;

type Name = keyof typeof LIMITS;
const NAMES = Object.keys(LIMITS) as Name[];

/** Headers, and the unit that contents are filled up to. */
const BLOCK = 512;

/** True if the file begins like a bundle. */
export async function isBundle(file: Blob): Promise<boolean> {
    return hasMagic(await bytes(file, 0, BLOCK));
}

/** Finds the files of a bundle. The promise is rejected with an `Error` of one sentence if the bytes are not a bundle. */
export async function readBundle(bundle: Blob): Promise<Bundle> {
    const files = new Map<Name, File>();
    for (let at = 0; ; ) {
        const header = await bytes(bundle, at, BLOCK);
        if (header.length < BLOCK) throw truncated(bundle, at + BLOCK);
        if (header.every((byte) => byte === 0)) {
            await checkEnd(bundle, at);
            break;
        }
        const { name, length } = parse(header, at);
        const content = at + BLOCK;
        const next = content + Math.ceil(length / BLOCK) * BLOCK;
        if (next > bundle.size) throw truncated(bundle, next);
        const again = name === "rows.csv" || name === "rows.jsonl" ? files.has("rows.csv") || files.has("rows.jsonl") : files.has(name);
        if (again) throw new Error(`duplicate part in the bundle: ${name}`);
        files.set(name, new File([bundle.slice(content, content + length)], name));
        at = next;
    }
    const [proof, csv, jsonl, schema, key, query, groups, paths] = NAMES.map((name) => files.get(name));
    if (proof === undefined) throw new Error("the bundle has no evergrove.proof");
    const rows = csv ? { csv } : jsonl && { jsonl };
    return {
        proof,
        ...(rows && { rows }),
        ...(schema && { schema }),
        ...(key && { key }),
        ...(query && { query }),
        ...(groups && { groups }),
        ...(paths && { paths }),
    };
}

function parse(header: Uint8Array, at: number): { name: Name; length: number } {
    const length = hasMagic(header) && header[345] === 0 ? octal(header.subarray(124, 136), 11) : null;
    if (length === null || octal(header.subarray(148, 156), 6) !== checksum(header)) {
        throw new Error(`the bundle has no header of tar's format ustar at byte ${at}`);
    }
    const end = header.subarray(0, 100).indexOf(0);
    const shown = Array.from(header.subarray(0, end < 0 ? 100 : end), (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : "?")).join("");
    const name = NAMES.find((name) => name === shown);
    if (name === undefined) throw new Error(`unknown file ${shown} in the bundle, expected ${NAMES.slice(0, -1).join(", ")} or ${NAMES.at(-1)}`);
    if (header[156] !== 0 && header[156] !== 0x30) throw new Error(`${name} in the bundle is not a regular file`);
    if (length > LIMITS[name]) throw new Error(`${name} in the bundle has ${length} bytes, the limit is ${LIMITS[name]}`);
    return { name, length };
}

/** An archive ends with two blocks of zeros, and whole records of more. */
async function checkEnd(bundle: Blob, from: number): Promise<void> {
    for (let at = from; at < bundle.size; at += PIECE) {
        const more = (await bytes(bundle, at, PIECE)).findIndex((byte) => byte !== 0);
        if (more >= 0) throw new Error(`the bundle ends before byte ${at + more}, and more bytes follow`);
    }
    if (bundle.size - from < 2 * BLOCK) throw truncated(bundle, from + 2 * BLOCK);
}

const PIECE = 2 ** 16;

const truncated = (bundle: Blob, needed: number): Error => new Error(`the bundle has ${bundle.size} bytes, expected at least ${needed}`);

const bytes = async (file: Blob, at: number, length: number): Promise<Uint8Array> => new Uint8Array(await file.slice(at, at + length).arrayBuffer());

const hasMagic = (header: Uint8Array): boolean => "ustar" === String.fromCharCode(...header.subarray(257, 262));

/** The sum of the header's bytes, with spaces in place of the sum. */
const checksum = (header: Uint8Array): number => header.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 32 : byte), 0);

/** A number of so many octal digits. What ends the field is a zero byte or a space. */
function octal(field: Uint8Array, digits: number): number | null {
    const text = String.fromCharCode(...field);
    return /^[0-7]+$/.test(text.slice(0, digits)) && /^[\0 ]*$/.test(text.slice(digits)) ? Number.parseInt(text.slice(0, digits), 8) : null;
}
