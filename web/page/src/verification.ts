// Verifications, one at a time, in a worker.

import type { Answer, Task } from "./worker.ts";

export type { Answer } from "./worker.ts";

/** What the reader has to know of every verification here. */
export const OWN_PAGE =
    "This page and its verifier are the service's own. For a service that you do not trust, use `evergrove verify`, or the verifier's page from elsewhere.";

/** A verification takes seconds. */
const LIMIT = 120_000;

let end: (why: string) => void = () => undefined;

/** Ends the one before, if it is still under way: that one fails. */
export function verify(task: Task): Promise<Answer> {
    end("another verification was started");
    const worker = new Worker("verify.js", { type: "module" });
    return new Promise((resolve) => {
        const settle = (answer: Answer): void => {
            clearTimeout(timer);
            worker.terminate();
            resolve(answer);
        };
        end = (failure) => settle({ failure });
        const timer = setTimeout(() => settle({ failure: `the verifier gave no answer in ${LIMIT / 1000} s: try again` }), LIMIT);
        worker.onmessage = ({ data }: MessageEvent<Answer>) => settle(data);
        worker.onerror = (event) => {
            event.preventDefault();
            settle({ failure: `the verifier did not start: ${event.message || "its files could not be loaded"}` });
        };
        worker.postMessage(task);
    });
}
