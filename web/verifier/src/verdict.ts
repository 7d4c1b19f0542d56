// What a verification comes to, and its reading from the module's JSON.

/** Why a proof was refused, or why there is no verdict. */
export const REFUSALS = [
    "truncated",
    "trailing",
    "magic",
    "version",
    "record",
    "malformed",
    "non-canonical",
    "scheme",
    "unsupported-backend",
    "profile",
    "height",
    "wrong-root",
    "wrong-rows",
    "application",
    "unsupported-tables",
    "wrong-key",
    "refused",
    "usage",
    "unreadable",
    "bad-rows",
    "key-missing",
] as const;

export type RefusalCode = (typeof REFUSALS)[number];

/**
 * Bits of security of one proof of the recursion, in three regimes. An attacker with 2^t evaluations of the hash succeeds with a
 * chance of about 2^(t - bits).
 */
export interface Bits {
    /** Proven; rests on no conjecture about codes. */
    readonly uniqueDecoding: number;
    /** Proven up to the Johnson bound. */
    readonly johnson: number;
    /** Rests on a conjecture about codes. */
    readonly conjectured: number;
}

interface Common {
    /** One sentence for a person. */
    readonly sentence: string;
    /** What an acceptance shows; empty otherwise. */
    readonly shown: readonly string[];
    /** What an acceptance does not show; empty otherwise. */
    readonly notShown: readonly string[];
    /** What this verification was willing to accept. */
    readonly policy: string;
    /** `opening` is one slot with its path; `bucket` and `merge` are proofs of a batch. The rest is null where it does not apply. */
    readonly kind: string | null;
    readonly scheme: string | null;
    readonly backend: string | null;
    readonly profile: string | null;
    /** The height of the table's tree. */
    readonly height: number | null;
    /** The root of the table's tree: 64 hexadecimal characters. */
    readonly root: string | null;
    /** The digest of the rows that the proof is about: 64 hexadecimal characters. */
    readonly canonical: string | null;
    /** The number of rows that were given and compared. */
    readonly rows: number | null;
    /** The digest of the schema that rows were read with. */
    readonly schemaDigest: string | null;
    readonly bits: Bits | null;
    /** The digest of the key file. */
    readonly keyDigest: string | null;
    /** The name and digest of the application. */
    readonly application: string | null;
    /** The output of the application, as elements of the Goldilocks field. */
    readonly output: readonly bigint[] | null;
    /** The slot of an opening. */
    readonly index: number | null;
    /** The value in the slot: 64 hexadecimal characters. Null if the slot is empty. */
    readonly value: string | null;
}

export interface Accepted extends Common {
    readonly accepted: true;
    readonly code: "accepted";
}

export interface Refused extends Common {
    readonly accepted: false;
    readonly code: RefusalCode;
}

export type Verdict = Accepted | Refused;

/** `refused` is about the proof. `error` is about what was given beside it, and `none` about its key file: both leave it open. */
export type Outcome = "accepted" | "refused" | "error" | "none";

export function outcome(verdict: Verdict): Outcome {
    switch (verdict.code) {
        case "accepted":
            return "accepted";
        case "usage":
        case "unreadable":
        case "bad-rows":
            return "error";
        case "key-missing":
        case "wrong-key":
        case "unsupported-tables":
            return "none";
        default:
            return "refused";
    }
}

/** Reads the module's JSON. Throws an `Error` if it has another shape: then module and package are of two versions. */
export function parseVerdict(json: string): Verdict {
    const value: unknown = JSON.parse(json);
    const common: Common = {
        sentence: checked(field(value, "sentence"), "sentence", isText),
        shown: texts(value, "shown"),
        notShown: texts(value, "not_shown"),
        policy: checked(field(value, "policy"), "policy", isText),
        kind: optional(value, "kind", isText),
        scheme: optional(value, "scheme", isText),
        backend: optional(value, "backend", isText),
        profile: optional(value, "profile", isText),
        height: optional(value, "height", isCount),
        root: optional(value, "root", isDigest),
        canonical: optional(value, "canonical", isDigest),
        rows: optional(value, "rows", isCount),
        schemaDigest: optional(value, "schema_digest", isDigest),
        bits: bits(field(value, "bits")),
        keyDigest: optional(value, "key_digest", isDigest),
        application: optional(value, "application", isText),
        output: optional(value, "output", isList)?.map(element) ?? null,
        index: optional(value, "index", isCount),
        value: optional(value, "value", isDigest),
    };
    const accepted = checked(field(value, "accepted"), "accepted", (x) => typeof x === "boolean");
    const code = checked(field(value, "code"), "code", isText);
    if (accepted && code === "accepted") return { accepted, code, ...common };
    const refusal = REFUSALS.find((x) => x === code);
    if (!accepted && refusal !== undefined) return { accepted, code: refusal, ...common };
    throw new Error(`the module's verdict has accepted ${accepted} with the code ${code}`);
}

function bits(value: unknown): Bits | null {
    if (value === null) return null;
    return {
        uniqueDecoding: checked(field(value, "unique_decoding"), "unique_decoding", isNumber),
        johnson: checked(field(value, "johnson"), "johnson", isNumber),
        conjectured: checked(field(value, "conjectured"), "conjectured", isNumber),
    };
}

// Numbers of JSON are doubles here: longer ones come as strings.
function element(value: unknown): bigint {
    if (typeof value === "string" && /^[0-9]{1,20}$/.test(value)) return BigInt(value);
    return BigInt(checked(value, "output", isCount));
}

/** A field of the object; null if there is none. */
function field(value: unknown, name: string): unknown {
    if (typeof value !== "object" || value === null) throw new Error(`the module's verdict is ${JSON.stringify(value)}`);
    return (value as Record<string, unknown>)[name] ?? null;
}

function checked<T>(value: unknown, name: string, is: (value: unknown) => value is T): T {
    if (is(value)) return value;
    throw new Error(`the module's verdict has an invalid ${name}: ${JSON.stringify(value)}`);
}

function optional<T>(value: unknown, name: string, is: (value: unknown) => value is T): T | null {
    const found = field(value, name);
    return found === null ? null : checked(found, name, is);
}

function texts(value: unknown, name: string): readonly string[] {
    return (optional(value, name, isList) ?? []).map((x) => checked(x, name, isText));
}

const isText = (x: unknown): x is string => typeof x === "string";
const isList = (x: unknown): x is readonly unknown[] => Array.isArray(x);
const isDigest = (x: unknown): x is string => isText(x) && /^[0-9a-f]{64}$/.test(x);
const isNumber = (x: unknown): x is number => typeof x === "number" && Number.isFinite(x);
const isCount = (x: unknown): x is number => Number.isSafeInteger(x) && (x as number) >= 0;
