// The package for browsers, workers and other programs with `fetch`.

import { verifier, type Verify } from "./verify.js";

export { isBundle, readBundle } from "./bundle.js";
export type { Bundle } from "./bundle.js";
export type { Key } from "./key.js";
export type { Application, Bytes, DigestBytes, Options, Text, Verify } from "./verify.js";
export { outcome, REFUSALS } from "./verdict.js";
export type { Accepted, Bits, Outcome, RefusalCode, Refused, Verdict } from "./verdict.js";

/**
 * Verifies a proof against a commitment, like `evergrove1:14:08ad..`, that comes from a source that the caller trusts.
 *
 * An invalid proof is a verdict with `accepted: false`. The promise is rejected if an option is not as its type says, if the
 * key's stream fails, or if the module cannot be loaded.
 */
export const verify: Verify = verifier(async () => {
    const url = new URL("./evergrove_verifier.wasm", import.meta.url);
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: the server answered ${response.status}`);
    // Not compileStreaming: some servers do not know the type of these files.
    return WebAssembly.compile(await response.arrayBuffer());
});
