// Verifies a proof or an opening off the page's thread, with the verifier for WebAssembly.

import type { Verdict } from "../../verifier/src/verdict.ts";
import { verifier } from "../../verifier/src/verify.ts";

/** What is to be verified. */
export interface Task {
    readonly proof: Uint8Array;
    readonly commitment: string;
    readonly key?: Uint8Array;
}

export type Answer = { readonly verdict: Verdict; readonly seconds: number } | { readonly failure: string };

const verify = verifier(async () => {
    const response = await fetch(new URL("verifier.wasm", self.location.href));
    if (!response.ok) throw new Error(`verifier.wasm: the service answered ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
});

async function run({ proof, commitment, key }: Task): Promise<Answer> {
    const start = performance.now();
    try {
        const verdict = await verify(proof, commitment, key === undefined ? {} : { key });
        return { verdict, seconds: (performance.now() - start) / 1000 };
    } catch (error) {
        return { failure: error instanceof Error ? error.message : String(error) };
    }
}

self.onmessage = async ({ data }: MessageEvent<Task>) => {
    self.postMessage(await run(data));
};
