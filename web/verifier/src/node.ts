// The package for Node.js, which does not fetch files.

import { readFile } from "node:fs/promises";

import { verifier, type Verify } from "./verify.js";

export { isBundle, readBundle } from "./bundle.js";
export type { Bundle } from "./bundle.js";
export type { Key } from "./key.js";
export type { Application, Bytes, DigestBytes, Options, Text, Verify } from "./verify.js";
export { outcome, REFUSALS } from "./verdict.js";
export type { Accepted, Bits, Outcome, RefusalCode, Refused, Verdict } from "./verdict.js";

/** As in `index.ts`. */
export const verify: Verify = verifier(async () =>
    WebAssembly.compile(await readFile(new URL("./evergrove_verifier.wasm", import.meta.url))),
);
