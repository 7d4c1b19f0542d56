// Messages between page and worker.

import type { Verdict } from "./verifier/index.js";

/** One verification. The worker reads the files. */
export interface Task {
    readonly commitment: string;
    readonly proof: File;
    readonly rows: { readonly file: File; readonly format: "csv" | "jsonl" } | null;
    readonly schema: File | null;
    /** The schema came in a bundle with the proof. */
    readonly schemaBundled: boolean;
    readonly key: File | null;
    readonly keyDigest: string | null;
    readonly application: {
        readonly name: string;
        readonly digest: string;
        readonly inputs: readonly bigint[] | null;
        readonly outputLength: number;
    } | null;
    readonly profiles: readonly string[];
}

export type Answer =
    | { readonly kind: "key"; readonly read: number }
    | { readonly kind: "verdict"; readonly verdict: Verdict; readonly seconds: number }
    /** No verdict, for a reason outside the verifier, for example a file that cannot be read. */
    | { readonly kind: "failure"; readonly message: string };
